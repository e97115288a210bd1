//! Codes of elaboration: names, statics, types, shapes, clocks.

codes! {
    UNKNOWN_NAME = "unknown-name", "A name that nothing in scope defines.";
    AMBIGUOUS_NAME = "ambiguous-name", "A name that several imports define.";
    DUPLICATE_DEFINITION = "duplicate-definition", "Something is defined more than once.";
    UNDEFINED_OUTPUT = "undefined-output", "An output has no equation.";
    ARITY = "arity", "A call has too few or too many arguments or results.";
    NODE_ARGUMENT = "node-argument", "A node is expected and a value is given, or the other way round.";
    UNKNOWN_MEMBER = "unknown-member", "A variable with an index that no equation defines.";
    MATCH_CASES = "match-cases", "The cases of a `match` are not those of one enumeration, each once.";
    UNKNOWN_STATE = "unknown-state", "A transition leads to a state that the automaton does not have.";
    UNREACHABLE_STATE = "unreachable-state", "No transition leads to a state of an automaton.";
    STATE_VARIABLE = "state-variable", "A variable is read where the states of an automaton do not all define it.";
    RECORD_VALUE = "record-value", "A record is given where a value or another record is expected, or the other way round.";
    RECORD_FIELD = "record-field", "A field that a record does not have, or of something that is no record.";
    NOT_A_CALL = "not-a-call", "Only a call of a node has a meaning here.";
    EXTERN_NODE = "extern-node", "A node without equations is used, but nothing implements it.";
    RECURSIVE_NODE = "recursive-node", "A node calls itself, directly or through others.";
    INSTANCE_LIMIT = "instance-limit", "The program has more node instances, or deeper calls, than are supported.";
    IMPORT_NOT_FOUND = "import-not-found", "An imported file, library module or node does not exist.";
    PRIVATE_NODE = "private-node", "A node that is private to its file, or not imported, is used or expected in another.";
    UNUSED_IMPORT = "unused-import", "Nothing from an import is used.";
    IMPORT_CYCLE = "import-cycle", "Files import each other in a circle.";
    ROOT_NODE = "root-node", "It is not clear which node is to run, or it does not exist.";
    STATIC_NOT_SET = "static-not-set", "A static parameter of the node that runs has no value.";
    UNUSED_SETTING = "unused-setting", "A value is set for a name that is no static parameter or dimension of the node that runs.";
    NOT_STATIC = "not-static", "A value must be known when the program is compiled, but is not.";
    STATIC_VALUE = "static-value", "A compile-time value has the wrong kind or is out of range.";
    STATIC_CYCLE = "static-cycle", "Static names are defined by each other.";
    UNBOUND_DIMENSION = "unbound-dimension", "A named dimension has no size.";
    TYPE_MISMATCH = "type-mismatch", "Element types do not fit; no value is converted implicitly.";
    SHAPE_MISMATCH = "shape-mismatch", "Shapes do not fit.";
    UNSTABLE_SHAPE = "unstable-shape", "The shape of a variable depends on itself and never settles.";
    CONDITION_TYPE = "condition-type", "A condition is not a scalar bool.";
    EMPTY_ARRAY = "empty-array", "An array without elements is used as a stream.";
    DECLARED_CLOCK = "declared-clock", "The condition of a declared clock is not a bool variable that can be one.";
    ASSERTION_FALSE = "assertion-false", "The condition of an assertion is false whatever the data.";
    HELD_TRAINING = "held-training", "The gradient with held parameters is taken of something that updates parameters.";
    SCALAR_PARAMETER = "scalar-parameter", "A parameter of one element begins at an integer that looks like its size.";
    CONSTANT_DELAY = "constant-delay", "A `fby` delays a constant, and its first value is a stream: they may be exchanged.";
    FBY_OPERAND = "fby-operand", "The first value of a `fby` is an operation on a stream and a number, of which the number may be meant.";
    SHARED_INSTANCE = "shared-instance", "A shared instance is not used, or used in a way that its calls cannot share parameters.";
    ALONG_AXIS = "along-axis", "A call cannot run along an axis, because of its axes or because of the called node.";
    RESTART_CLOCK = "restart-clock", "What restarts is on a clock whose condition has no name in its node.";
    UNUSED_OPTIMISER = "unused-optimiser", "A node updates no parameter: its name is nearly `diff_param`, or what is before `by` has none.";
    OVERRIDE_INTERFACE = "override-interface", "A node that replaces a synthesised adjoint has the wrong interface.";
}
