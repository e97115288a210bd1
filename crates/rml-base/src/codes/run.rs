//! Codes of the runtime: data, checkpoints, training, flags.

codes! {
    UNREADABLE_FILE = "unreadable-file", "A file cannot be read.";
    UNWRITABLE_FILE = "unwritable-file", "A file cannot be written; what stood there before is kept.";
    OUTPUT_IS_INPUT = "output-is-input", "A command is to write a file that it reads.";
    UNKNOWN_FORMAT = "unknown-format", "The extension of a data file names no format that is known.";
    MALFORMED_DATA = "malformed-data", "A data file, or a line of a stream, is not what its format asks for.";
    DATA_TOO_LARGE = "data-too-large", "A data file declares or unpacks to more than it may.";
    MEMORY_LIMIT = "memory-limit", "Something would take more memory than a command may.";
    MISSING_COLUMN = "missing-column", "An input of the run node has no column in the data.";
    DATA_TYPE = "data-type", "A column's elements are not of the type of its input.";
    DATA_SHAPE = "data-shape", "A column's shape does not fit its input.";
    NAN_IN_DATA = "nan-in-data", "The data holds NaN.";
    EMPTY_DATA = "empty-data", "The data has no row.";
    UNKNOWN_INPUT = "unknown-input", "A value is given for an input that the run node does not have.";
    MISSING_INPUT = "missing-input", "An input of the run node got no value in a cycle.";
    INPUT_TYPE = "input-type", "A value is not of the type of its input.";
    BAD_OPTION = "bad-option", "An option has a value that it cannot have here, or can have no effect.";
    NO_BATCH_DIMENSION = "no-batch-dimension", "A batch size is given for a node without a dimension `batch`.";
    BATCH_STATE = "batch-state", "A state's shape depends on the batch size, which changes for the last, short batch.";
    WINDOW_INCOMPLETE = "window-incomplete", "A value waits for cycles beyond the end of its window.";
    ENDLESS_WINDOW = "endless-window", "No window of a node that makes its data itself ends.";
    UNTIL_CONDITION = "until-condition", "The condition of `--until` cannot be read.";
    UNKNOWN_METRIC = "unknown-metric", "`--until` or `--metric` is about a number that training does not report.";
    GOAL_MISSED = "goal-missed", "Training ended before what it was to go on for.";
    MALFORMED_CHECKPOINT = "malformed-checkpoint", "A file is not a checkpoint, or a damaged one.";
    NO_PARAMETERS = "no-parameters", "A node with parameters is to run, and no checkpoint gives them.";
    CHECKPOINT_MISMATCH = "checkpoint-mismatch", "A checkpoint holds other states than the program has.";
    RESUME_MISMATCH = "resume-mismatch", "A run cannot go on from a checkpoint under other conditions.";
    PROGRAM_CHANGED = "program-changed", "The program is not the one that the checkpoint was made with.";
    DATA_CHANGED = "data-changed", "The data is not what the checkpoint was made with.";
    SETTING_CHANGED = "setting-changed", "A static parameter has another value than the one that the checkpoint was made with.";
    DIVERGED = "diverged", "Training gave a number that is not finite.";
    KAHN_DEADLOCK = "kahn-deadlock", "In the Kahn semantics, a stream waits for itself.";
    KAHN_WINDOW = "kahn-window", "Windows have no Kahn semantics.";
    MALFORMED_MAPPING = "malformed-mapping", "A mapping file is not what its format asks for.";
    UNKNOWN_PARAMETER = "unknown-parameter", "A mapping names a parameter that the program does not have.";
    PARAMETER_TWICE = "parameter-twice", "Two entries of a mapping make the same parameter.";
    PARAMETER_NOT_MAPPED = "parameter-not-mapped", "No entry of a mapping makes a parameter of the program.";
    UNKNOWN_TENSOR = "unknown-tensor", "A mapping names a tensor that the file of weights does not have.";
    UNUSED_TENSOR = "unused-tensor", "A tensor of a file of weights is used by no entry of the mapping.";
    TENSOR_SHAPE = "tensor-shape", "A tensor has not the shape that a mapping needs.";
    TENSOR_TYPE = "tensor-type", "The elements of a tensor are not of the type of its parameter.";
    EXPORT_MISMATCH = "export-mismatch", "The parameters of a program have no place in the layout of another library.";
    EXPORT_REFUSED = "export-refused", "A program cannot be exported: what it is exported as has no place for it.";
    NO_TEST_SPLIT = "no-test-split", "The checkpoint does not say which windows were kept for testing, or for validation.";
}
