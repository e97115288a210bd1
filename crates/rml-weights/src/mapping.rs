//! Mapping files: the foreign tensors of which each parameter of a program is made. A file is TOML with the tables
//! `params` (parameters by path), `use` (layouts of whole layers), `layout` (your own layouts), `fixed` (tensors that
//! are no parameters), `ports` (other names of inputs, outputs and states) and the list `ignore`.

use rml_base::{Diagnostic, Diagnostics, FileId};

use rml_data::tree::{self, Node, Table, TreeName as Name};

/// A parsed mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    /// Parameters by path.
    pub(crate) params: Vec<Entry>,
    /// Layers by layout.
    pub(crate) uses: Vec<Use>,
    /// Layouts that the file defines.
    pub(crate) layouts: Vec<Layout>,
    /// Foreign tensors that are no parameters, and their values.
    pub(crate) fixed: Vec<Entry>,
    /// Patterns of foreign tensors that are ignored.
    pub(crate) ignore: Vec<Name>,
    /// The inputs, outputs and states of the program, each with its name in a model.
    pub(crate) ports: Vec<(Name, Name)>,
}

/// A named value, which is parsed after its placeholders have been filled.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The path of a parameter, or the name of a tensor.
    pub(crate) name: Name,
    /// Its definition.
    pub(crate) value: Node,
}

/// The use of a layout for all instances of a path.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The path of the instances; empty for the node that runs.
    pub(crate) at: Name,
    /// The layout's name.
    pub(crate) layout: Name,
    /// The layout's options: name and value.
    pub(crate) options: Vec<(Name, Name)>,
}

/// The layout in which a library stores the parameters of a kind of layer.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Its name, such as `torch.lstm`.
    pub(crate) name: Name,
    /// Its purpose, in one line.
    pub(crate) about: String,
    /// Its options with their defaults.
    pub(crate) options: Vec<(String, String)>,
    /// The parameters by path within the layer.
    pub(crate) params: Vec<Entry>,
    /// As in [`Written`].
    pub(crate) fixed: Vec<Entry>,
}

/// The option of every layout with the prefix of the names of its tensors.
pub(crate) const FROM: &str = "from";
/// The option of every layout with the text between `from` and a name.
pub(crate) const SEPARATOR: &str = "separator";

/// Parses a text; messages refer to it as `file`.
pub(crate) fn parse(text: &str, file: FileId) -> Result<Written, Diagnostics> {
    let root = tree::parse(text, file)?;
    let mut mapping = Written::default();
    let mut findings = Diagnostics::new();
    if let Err(d) = fill(&mut mapping, &root, &mut findings) {
        findings.push(d);
    }
    if findings.is_empty() { Ok(mapping) } else { Err(findings) }
}

fn fill(mapping: &mut Written, root: &Node, findings: &mut Diagnostics) -> Result<(), Diagnostic> {
    let root = root.table("a mapping")?;
    root.only(&["params", "use", "layout", "fixed", "ignore", "ports"], "a mapping")?;
    mapping.params = entries(root, "params")?;
    mapping.fixed = entries(root, "fixed")?;
    for item in root.get("use").map_or(Ok(&[][..]), |n| n.list("`use`, written `[[use]]`,"))? {
        match read_use(item) {
            Ok(read) => mapping.uses.push(read),
            Err(d) => findings.push(d),
        }
    }
    if let Some(layouts) = root.get("layout") {
        for (name, value) in layouts.table("`layout`")?.iter() {
            match read_layout(name, value) {
                Ok(read) => mapping.layouts.push(read),
                Err(d) => findings.push(d),
            }
        }
    }
    for item in root.get("ignore").map_or(Ok(&[][..]), |n| n.list("`ignore`"))? {
        mapping.ignore.push(item.name("a tensor to ignore")?);
    }
    if let Some(ports) = root.get("ports") {
        for (name, value) in ports.table("`ports`")?.iter() {
            mapping.ports.push((name.clone(), value.name("the name of a port")?));
        }
    }
    Ok(())
}

fn entries(table: Table<'_>, key: &str) -> Result<Vec<Entry>, Diagnostic> {
    let Some(node) = table.get(key) else { return Ok(Vec::new()) };
    let all = node.table(&format!("`{key}`"))?.iter();
    Ok(all.map(|(name, value)| Entry { name: name.clone(), value: value.clone() }).collect())
}

fn read_use(item: &Node) -> Result<Use, Diagnostic> {
    let table = item.table("`use`")?;
    let name = |key: &str| table.need(key, "a `use`")?.name(&format!("`{key}` of a `use`"));
    let (at, layout) = (name("at")?, name("layout")?);
    let mut options = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| !matches!(key.text.as_str(), "at" | "layout")) {
        options.push((key.clone(), option(key, value)?));
    }
    Ok(Use { at, layout, options })
}

/// The value of an option as a text.
fn option(key: &Name, value: &Node) -> Result<Name, Diagnostic> {
    let what = format!("option `{}`", key.text);
    if let tree::TreeValue::Text(text) = &value.data {
        return Ok(Name { text: text.clone(), span: value.span });
    }
    let size = value.size(&what).map_err(|_| {
        tree::bad(value.span, format!("{what} must be a text or a whole number"), "it is neither")
    })?;
    Ok(Name { text: size.to_string(), span: value.span })
}

fn read_layout(name: &Name, value: &Node) -> Result<Layout, Diagnostic> {
    let table = value.table("a layout").map_err(|d| d.help("quote its name if it has a point in it"))?;
    table
        .only(&["about", SEPARATOR, "options", "params", "fixed"], "a layout")
        .map_err(|d| d.help("quote the layout's name if it has a point in it"))?;
    let text = |key: &str| table.get(key).map_or(Ok(""), |n| n.text(&format!("`{key}`"))).map(str::to_owned);
    let mut options = vec![(FROM.to_owned(), String::new()), (SEPARATOR.to_owned(), text(SEPARATOR)?)];
    if let Some(node) = table.get("options") {
        for (key, value) in node.table("`options`")?.iter() {
            options.push((key.text.clone(), option(key, value)?.text));
        }
    }
    Ok(Layout {
        name: name.clone(),
        about: text("about")?,
        options,
        params: entries(table, "params")?,
        fixed: entries(table, "fixed")?,
    })
}
