//! The root, the node that runs: how it is chosen, and the values of its statics and dimensions.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Diagnostics, Span, suggest};
use rml_ir::typed::{Module, StaticValue};

mod arbitrary;

use rml_syntax::ast::DefinitionForm;

use crate::adjoints;
use crate::emit::Builder;
use crate::expand::{Expansion, dimensions, not_set, takes_nodes};
use crate::hir::{Item, Local, LocalKind, Node, Role, SourceId};
use crate::instance::{RootGiven, RootSpec};
use crate::instantiate::instantiate;
use crate::lower::callees;
use crate::options::{Options, Root};
use crate::report::Report;
use crate::scope::Program;

/// The name of the dimension for stacked windows.
const BATCH: &str = "batch";
/// The name of the node that runs by default.
const MAIN: &str = "main";

/// Makes the module of the root that the options choose; `None` if there are errors. Then the errors of all nodes of
/// the main text are reported.
pub(crate) fn elaborate(program: &Program, options: &Options, report: &mut Report) -> Option<Module> {
    let module = choose(program, &options.root, report).and_then(|source| {
        let spec = spec(program, source, options, report);
        if spec.open { None } else { module(program, spec, options, report) }
    });
    if report.errors() > 0 {
        check_nodes(program, options, report);
        return None;
    }
    module
}

/// Makes the module of the root, ignoring errors in nodes that it does not need. Otherwise returns the errors of the
/// root.
pub(crate) fn elaborate_alone(program: &Program, options: &Options) -> Result<Module, Diagnostics> {
    let mut report = Report::default();
    let made = choose(program, &options.root, &mut report).and_then(|source| {
        let spec = spec(program, source, options, &mut report);
        module(program, spec, options, &mut report)
    });
    made.filter(|_| report.errors() == 0).ok_or_else(|| report.finish())
}

fn module(program: &Program, spec: RootSpec, options: &Options, report: &mut Report) -> Option<Module> {
    let _span = tracing::debug_span!("instantiate", node = &*program.nodes[spec.source].name).entered();
    let mut builder = Builder::new(options.precision);
    let mut found = Report::default();
    let mut expansion = Expansion::new(program, options, Some(spec.source), report);
    let untyped = untyped_inputs(program, &spec);
    let root = instantiate(&mut expansion, spec, &mut builder, &mut found);
    report.extend(of_untyped(of_settings(found.finish(), options), &untyped));
    let root = root?;
    let differentiated = |root, builder: &Builder| match &options.root {
        Root::Default | Root::Run(_) => Vec::new(),
        Root::Diff(_) => vec![(root, 1)],
        Root::DiffWithin { node, .. } => {
            let instances = builder.nodes.iter_enumerated().filter(|(_, n)| *n.name == **node);
            instances.map(|(id, _)| (id, 1)).collect()
        }
    };
    let (root, adjoints) = adjoints::add(&mut expansion, root, &differentiated, &mut builder, report)?;
    Some(Module {
        precision: options.precision,
        nodes: builder.nodes,
        root,
        overrides: adjoints.overrides,
        optimisers: adjoints.optimisers,
    })
}

/// The inputs of the root that are treated as scalars because they have no type.
fn untyped_inputs(program: &Program, spec: &RootSpec) -> Vec<String> {
    let node = &program.nodes[spec.source];
    let inputs = spec.givens.iter().zip(&node.formals);
    let guessed = |(given, formal): &(&RootGiven, &Local)| {
        matches!(given, RootGiven::Input(None))
            && node.roles[**formal] == Role::Stream
            && !node.is_typed(**formal)
    };
    inputs.filter(guessed).map(|(_, formal)| node.name_of(*formal).to_string()).collect()
}

/// Adds to the first finding about shapes which inputs of the node are treated as scalars.
fn of_untyped(mut found: Diagnostics, untyped: &[String]) -> Diagnostics {
    if let Some(d) = found.0.iter_mut().find(|d| d.code == codes::SHAPE_MISMATCH)
        && let [first, ..] = untyped
    {
        let names = untyped.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
        let what = if untyped.len() == 1 {
            "has no type, so it is a scalar"
        } else {
            "have no type, so they are scalars"
        };
        d.help.push(format!("{names} {what}: declare the shape, as in `{first}: num [8]`"));
    }
    found
}

/// If a value set from outside is wrong, adds a help for it and removes the findings that follow from it.
fn of_settings(found: Diagnostics, options: &Options) -> Diagnostics {
    let settings = || options.set.iter().chain(&options.defaults);
    let set = |d: &Diagnostic| {
        let texts = || d.labels.iter().map(|label| &label.message).chain(&d.notes);
        let is_it = |value: &StaticValue| match value {
            // A size of the library may be a multiple of the setting, as in `3 * units`.
            StaticValue::Int(set) if *set < 0 => {
                let found =
                    |text: &String| text.rsplit_once("the int ").and_then(|(_, n)| n.parse::<i64>().ok());
                texts().filter_map(found).any(|n| n < 0 && n % set == 0)
            }
            StaticValue::Bool(_) | StaticValue::Int(_) | StaticValue::Num(_) | StaticValue::Array(_) => {
                texts().any(|text| text.ends_with(&format!(" {value}")))
            }
        };
        settings().find(|(_, value)| d.code == codes::STATIC_VALUE && is_it(value))
    };
    if !found.iter().any(|d| set(d).is_some()) {
        return found;
    }
    let kept = found.into_iter().filter(|d| d.code != codes::SHAPE_MISMATCH);
    Diagnostics(
        kept.map(|mut d| {
            if let Some((name, value)) = set(&d) {
                d.help = vec![match value {
                    StaticValue::Num(x) if x.fract() == 0.0 && *x >= 0.0 => {
                        format!("`{name}` is set from outside: write `--set {name}={x:.0}`")
                    }
                    StaticValue::Bool(_)
                    | StaticValue::Int(_)
                    | StaticValue::Num(_)
                    | StaticValue::Array(_) => {
                        format!("`{name}` is set from outside: change `--set {name}={value}`")
                    }
                }];
            }
            d
        })
        .collect(),
    )
}

/// Checks all nodes of the main text, and the settings. Returns the modules of correct nodes that no other node calls.
pub(crate) fn check_all(program: &Program, options: &Options, report: &mut Report) -> Vec<Module> {
    let modules = check_nodes(program, options, report);
    if !program.in_error
        && let Some(scope) = program.scopes.files.get(&program.main)
    {
        unused_settings(program, &scope.own.values().copied().collect::<Vec<_>>(), options, report);
    }
    modules
}

fn check_nodes(program: &Program, options: &Options, report: &mut Report) -> Vec<Module> {
    let Some(scope) = program.scopes.files.get(&program.main) else { return Vec::new() };
    let own: IndexSet<SourceId> = scope.own.values().copied().collect();
    let lenient = Options { set: IndexMap::new(), defaults: merged(options), ..options.clone() };
    let mut covered: IndexSet<SourceId> = IndexSet::new();
    let mut below_open: IndexSet<SourceId> = IndexSet::new();
    let mut modules = Vec::new();
    for &source in program.order.iter().rev().filter(|s| own.contains(*s)) {
        let node = &program.nodes[source];
        if covered.contains(&source) || node.is_extern || node.form != DefinitionForm::Node {
            continue;
        }
        let (module, found) = check_node(program, source, &lenient);
        // A node may be correct although a call of it is wrong.
        let limit = found.iter().any(|d| d.code == codes::INSTANCE_LIMIT);
        if limit || !found.has_errors() && module.is_some() {
            cover(program, source, &mut covered);
        } else if !found.has_errors() {
            cover(program, source, &mut below_open);
        }
        // A node that is only called by a node that lacks a value is not a program of its own.
        modules.extend(module.filter(|_| !below_open.contains(&source)).map(|mut module| {
            module.shrink_to_fit();
            module
        }));
        report.extend(found);
    }
    modules
}

/// Checks a node, as far as that is possible without knowing its callers.
fn check_node(program: &Program, source: SourceId, options: &Options) -> (Option<Module>, Diagnostics) {
    let mut spec = spec(program, source, options, &mut Report::default());
    spec.open |= takes_nodes(&program.nodes[source]);
    let mut report = Report::default();
    let open = spec.open;
    if !spec.open {
        let module = module(program, spec.clone(), options, &mut report);
        if report.errors() == 0 {
            return (module, report.finish());
        }
    }
    let node = &program.nodes[source];
    // The root itself runs with the guessed types of such inputs.
    if !spec.open && *node.name == *MAIN {
        return (None, report.finish());
    }
    // The shapes of inputs without a type are guesses.
    let unshaped = |(given, formal): (&mut RootGiven, &Local)| {
        if matches!(given, RootGiven::Input(None)) && !node.is_typed(*formal) {
            *given = RootGiven::Unshaped;
            return true;
        }
        false
    };
    let guessed = spec.givens.iter_mut().zip(&node.formals).map(unshaped).filter(|guess| *guess).count() > 0;
    if guessed || spec.open {
        spec.open = true;
        report = Report::default();
        module(program, spec, options, &mut report);
    }
    let keep = |d: &Diagnostic| !guessed || d.code != codes::ARITY;
    let mut found = Diagnostics(report.finish().into_iter().filter(keep).collect());
    if !found.has_errors() && (guessed || open) {
        found.extend(arbitrary::errors(program, source, options));
    }
    (None, found)
}

fn merged(options: &Options) -> IndexMap<String, StaticValue> {
    let mut all = options.defaults.clone();
    all.extend(options.set.clone());
    all
}

/// Adds a node and all nodes that it calls.
fn cover(program: &Program, source: SourceId, covered: &mut IndexSet<SourceId>) {
    let mut todo = vec![source];
    while let Some(source) = todo.pop() {
        if !covered.insert(source) {
            continue;
        }
        todo.extend(callees(&program.nodes[source]).into_iter().map(|(callee, ..)| callee));
    }
}

/// The nodes of the main text by name, without constants.
fn own_nodes(program: &Program) -> Option<IndexMap<String, SourceId>> {
    let own = &program.scopes.files.get(&program.main)?.own;
    let nodes = own.iter().filter(|(_, id)| program.nodes[**id].form == DefinitionForm::Node);
    Some(nodes.map(|(name, id)| (name.clone(), *id)).collect())
}

/// Chooses the node that becomes the root.
fn choose(program: &Program, root: &Root, report: &mut Report) -> Option<SourceId> {
    let own = own_nodes(program)?;
    let names = || own.keys().cloned().collect::<Vec<_>>().join(", ");
    match root {
        Root::Run(name) | Root::Diff(name) | Root::DiffWithin { root: name, .. } => {
            if let Some(&id) = own.get(name) {
                return Some(id);
            }
            let mut d = Diagnostic::error(codes::ROOT_NODE, format!("the program has no node `{name}`"));
            d = match suggest(name, own.keys().map(String::as_str)) {
                Some(near) => d.help(format!("there is `{near}`")),
                None => d.help(format!("choose one with `--node NAME`, or define `node {name}(..) -> (..)`")),
            };
            report.push(if own.is_empty() { d } else { d.note(format!("its nodes are {}", names())) });
            None
        }
        Root::Default => {
            if let Some(&id) = own.get(MAIN) {
                return Some(id);
            }
            let called: IndexSet<SourceId> =
                own.values().flat_map(|id| program.nodes[*id].names.iter().copied()).collect();
            let free = own.values().copied().filter(|id| !called.contains(id));
            let free: Vec<SourceId> = free.filter(|id| !takes_nodes(&program.nodes[*id])).collect();
            let is_override =
                |id: &SourceId| program.scopes.overrides(program.main, &program.nodes[*id].name);
            let free = match free.iter().all(is_override) {
                true => free,
                false => free.into_iter().filter(|id| !is_override(id)).collect(),
            };
            match free[..] {
                [id] => Some(id),
                // A name in error may be the name of a node.
                _ if program.in_error => None,
                [] => {
                    let d = Diagnostic::error(codes::ROOT_NODE, "the program has no node to run");
                    report.push(d.help("add a node, for example `node main(x: num []) -> (y) y = x;`"));
                    None
                }
                _ => {
                    let mut d = Diagnostic::error(codes::ROOT_NODE, "it is not clear which node is to run");
                    for &id in free.iter().take(6) {
                        d = d.label(program.nodes[id].name_span, "no other node calls this one");
                    }
                    report.push(d.help("choose one with `--node NAME`, or call it `main`"));
                    None
                }
            }
        }
    }
}

/// The values of the formals and dimensions of the root.
fn spec(program: &Program, source: SourceId, options: &Options, report: &mut Report) -> RootSpec {
    let node = &program.nodes[source];
    let before = report.errors();
    if node.is_extern {
        report.push(
            Diagnostic::error(codes::EXTERN_NODE, format!("nothing implements node `{}`", node.name))
                .label(node.span, "it has outputs, but no equations")
                .help("add its equations"),
        );
    }
    let given = |name: &str| options.set.get(name).or_else(|| options.defaults.get(name));
    let mut givens = Vec::with_capacity(node.formals.len());
    for &formal in &node.formals {
        let name = node.name_of(formal);
        if node.locals[formal].kind == LocalKind::Node {
            givens.push(RootGiven::Open);
            continue;
        }
        givens.push(match (node.roles[formal], given(name)) {
            (Role::Static | Role::Both | Role::Unused, Some(value)) => RootGiven::Static(value.clone()),
            (Role::Stream, Some(value)) if is_settable(node, formal) => RootGiven::Static(value.clone()),
            (Role::Static | Role::Both, None) => {
                report.push(not_set(node, formal));
                RootGiven::Open
            }
            _ => RootGiven::Input(None),
        });
    }
    let mut dims = IndexMap::new();
    for (name, span, spliced) in named_dimensions(program, node) {
        let value = dimension(node, (&name, span, spliced), given(&name), report);
        dims.extend(value.map(|value| (name, value)));
    }
    let open = report.errors() > before;
    unused_settings(program, &[source], options, report);
    RootSpec { source, givens, dims, open }
}

/// Whether a formal of the root may be set from outside: a static formal, or an input without a type, which then
/// becomes that constant.
fn is_settable(node: &Node, formal: Local) -> bool {
    node.roles[formal] != Role::Stream || !node.is_typed(formal)
}

/// The named dimensions of the inputs of a node, including those of records: the name, the place, and whether it is
/// spliced.
fn named_dimensions(program: &Program, node: &Node) -> Vec<(String, Span, bool)> {
    let mut found = Vec::new();
    for (local, data) in node.locals.iter_enumerated() {
        if data.kind == LocalKind::Dim {
            let all = node.formals.iter().flat_map(|f| &node.locals[*f].types).flat_map(|ty| &ty.dims);
            let spliced = all.into_iter().any(|item| matches!(item, Item::Splice(l, _) if *l == local));
            found.push((data.name.to_string(), data.span, spliced));
        }
        if data.kind != LocalKind::Formal {
            continue;
        }
        let inner = dimensions(program, node, local);
        found.extend(inner.into_iter().map(|(name, spliced)| (name, data.span, spliced)));
    }
    found
}

/// The value of a named dimension of the root. If the name is spliced, a single size is treated as a list with one
/// entry.
fn dimension(
    node: &Node,
    (name, span, spliced): (&str, Span, bool),
    given: Option<&StaticValue>,
    report: &mut Report,
) -> Option<StaticValue> {
    match given {
        Some(StaticValue::Int(size)) if *size >= 0 => Some(match spliced {
            true => StaticValue::Array(vec![StaticValue::Int(*size)]),
            false => StaticValue::Int(*size),
        }),
        Some(value @ StaticValue::Array(_)) if spliced => Some(value.clone()),
        Some(value) => {
            report.push(
                Diagnostic::error(codes::STATIC_VALUE, format!("the dimension `{name}` cannot be {value}"))
                    .label(span, "a dimension of an input")
                    .note(format!(
                        "expected {}",
                        if spliced { "a list of sizes" } else { "a size, at least 0" }
                    )),
            );
            None
        }
        None => {
            let example = if spliced { "[2, 3]" } else { "32" };
            let d =
                Diagnostic::error(codes::UNBOUND_DIMENSION, format!("the dimension `{name}` has no size"))
                    .label(span, format!("the node that runs, `{}`, does not determine it", node.name));
            report.push(match name {
                BATCH => {
                    d.help(format!("give it on the command line, `--set {name}=1` for one value a cycle"))
                }
                _ => d.help(format!("give it on the command line: `--set {name}={example}`")),
            });
            None
        }
    }
}

/// The names of the constants that the main text defines.
fn constants(program: &Program) -> Vec<&str> {
    let own = program.scopes.files.get(&program.main).into_iter().flat_map(|scope| &scope.own);
    own.filter(|(_, id)| program.nodes[**id].form == DefinitionForm::Constant)
        .map(|(name, _)| name.as_str())
        .collect()
}

/// The error that a constant is set which nothing reads.
fn unread(program: &Program, name: &str, constant: SourceId) -> Diagnostic {
    let d = Diagnostic::error(codes::UNUSED_SETTING, format!("nothing reads the constant `{name}`"))
        .label(program.nodes[constant].name_span, "this would be set");
    let hides = |node: &Arc<Node>| {
        let local = node.locals.iter().find(|local| *local.name == *name && local.kind != LocalKind::Dim)?;
        let is_own = node.file == program.main && node.form == DefinitionForm::Node;
        is_own.then_some((local.span, node.name.clone()))
    };
    match program.nodes.iter().find_map(hides) {
        Some((span, node)) => d
            .label(span, format!("in `{node}`, this variable hides it"))
            .help(format!("rename one of both, or leave `--set {name}=..` out")),
        None => d.help(format!("read it in a node, or leave `--set {name}=..` out")),
    }
}

/// Reports settings that none of the nodes has.
fn unused_settings(program: &Program, sources: &[SourceId], options: &Options, report: &mut Report) {
    for name in options.set.keys() {
        let mut stream = None;
        let mut known: Vec<&str> = constants(program);
        let constant = program.scopes.constant(program.main, name);
        let constant = constant.filter(|id| program.nodes[*id].form == DefinitionForm::Constant);
        let mut found = false;
        for &source in sources {
            let node = &program.nodes[source];
            for (local, data) in node.locals.iter_enumerated() {
                let inner = dimensions(program, node, local);
                found |= inner.contains_key(name);
                let settable = match (data.kind, node.roles[local]) {
                    (LocalKind::Dim, _) => true,
                    (LocalKind::Formal, _) => is_settable(node, local),
                    _ => false,
                };
                if settable {
                    known.push(&data.name);
                    found |= data.name.as_ref() == name;
                } else if data.kind == LocalKind::Formal && data.name.as_ref() == name {
                    stream = Some(data.span);
                }
            }
        }
        if found {
            continue;
        }
        if let Some(id) = constant {
            let reads = |node: &Node| node.locals.iter().any(|local| local.kind == LocalKind::Constant(id));
            if !program.nodes.iter().any(|node| reads(node)) {
                report.push(unread(program, name, id));
            }
            continue;
        }
        let mut d = Diagnostic::error(
            codes::UNUSED_SETTING,
            format!("there is no static parameter or constant `{name}`"),
        );
        d = match stream {
            Some(span) => d.label(span, "this input has a type, so its values come from the data"),
            None => d,
        };
        if let Some(near) = suggest(name, known.iter().copied()) {
            d = d.help(format!("there is `{near}`"));
        }
        known.dedup();
        report.push(match known[..] {
            [] => d.note("nothing can be set for this program"),
            _ => d.note(format!("what can be set: {}", known.join(", "))),
        });
    }
}
