//! Expressions that define a parameter: foreign tensors, parts of them, sums, joins, and steps that move elements.
//! Every form can be inverted, see `cells`.

use rml_base::{Diagnostic, Span};

use crate::rearrange::{Rearrange, Sizes};
use crate::tensors::TensorFile;
use rml_data::tree::{Node, Table, TreeName as Name, TreeValue as Item, bad, listed};

/// The definition of a parameter, or of a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    /// The source of the elements.
    pub(crate) source: Source,
    /// The steps that are applied to the elements, in order.
    pub(crate) steps: Vec<Step>,
    /// The place in the mapping.
    pub(crate) span: Span,
}

/// A source of elements.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A tensor, or a part of it; `absent` is the value of all elements if the file lacks it.
    Tensor { name: Name, cut: Option<Cut>, absent: Option<f64> },
    /// The sum of several parts of one shape. An export writes all of it to the first part, and zeros to the others.
    Sum(Vec<Expr>),
    /// Several parts, concatenated along an axis.
    Concat { axis: usize, parts: Vec<Expr>, sizes: PartSizes },
    /// Several parts of one shape, stacked along a new axis.
    Stack { axis: usize, parts: Vec<Expr> },
    /// The same number everywhere. In an export the parameter must have this value, unless its values are added `into`
    /// a tensor.
    Fill { value: f64, into: Option<Name> },
}

/// The lengths of the parts of a concatenation along its axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PartSizes {
    /// The lengths of their tensors.
    Found,
    /// Equal lengths.
    Equal,
    /// These lengths.
    Given(Vec<usize>),
}

/// A part of a tensor along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// One of several equal blocks, counted from 0.
    Block { axis: usize, block: usize, of: usize },
    /// The half-open range of positions.
    Range { axis: usize, from: usize, to: usize },
}

/// A step that moves elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Axes are permuted, joined and split.
    Rearrange(Rearrange),
    /// The axis consists of as many equal blocks as the list has entries; block `i` of the result is block `order[i]`
    /// of the operand.
    Reorder { axis: usize, order: Vec<usize> },
    /// The axis is reversed.
    Flip { axis: usize },
}

const SOURCES: [&str; 5] = ["tensor", "sum", "concat", "stack", "fill"];
const STEPS: [&str; 3] = ["rearrange", "reorder", "flip"];

impl Expr {
    /// Parses the text after a parameter's path; all its placeholders have been filled.
    pub(crate) fn read(node: &Node) -> Result<Expr, Diagnostic> {
        if let Item::Text(_) = node.data {
            let name = node.name("a tensor")?;
            let source = Source::Tensor { name, cut: None, absent: None };
            return Ok(Expr { source, steps: Vec::new(), span: node.span });
        }
        let what = "what a parameter is made of";
        let table = node.table(what)?;
        let sources: Vec<&str> = SOURCES.into_iter().filter(|key| table.get(key).is_some()).collect();
        let [source] = sources[..] else {
            let message = format!("{what} must have one of the keys {}", listed(SOURCES.into_iter()));
            let d = bad(table.span, message, format!("this has {}", sources.len()));
            return Err(d.help("a path with points in it is quoted: \"lstm_0.lstm_cell_0.kernel\" = .."));
        };
        let mut keys = vec![source, "steps"];
        keys.extend(STEPS);
        keys.extend(match source {
            "tensor" => &["cut", "absent"][..],
            "concat" => &["axis", "sizes", "equal"],
            "stack" => &["axis"],
            "fill" => &["into"],
            _ => &[],
        });
        table.only(&keys, &format!("an entry with `{source}`"))?;
        Ok(Expr { source: read_source(source, table)?, steps: steps(table)?, span: node.span })
    }
}

fn read_source(key: &str, table: Table<'_>) -> Result<Source, Diagnostic> {
    let node = table.need(key, "an entry")?;
    let parts = || -> Result<Vec<Expr>, Diagnostic> {
        let parts = node.list(&format!("`{key}`"))?;
        if parts.is_empty() {
            return Err(bad(node.span, format!("`{key}` has no parts"), "here"));
        }
        parts.iter().map(Expr::read).collect()
    };
    let axis = || table.get("axis").map_or(Ok(0), |n| n.size("`axis`"));
    Ok(match key {
        "tensor" => Source::Tensor {
            name: node.name("`tensor`")?,
            cut: table.get("cut").map(cut).transpose()?,
            absent: table.get("absent").map(|n| n.constant("`absent`")).transpose()?,
        },
        "sum" => Source::Sum(parts()?),
        "stack" => Source::Stack { axis: axis()?, parts: parts()? },
        "concat" => {
            let parts = parts()?;
            Source::Concat { axis: axis()?, sizes: part_sizes(table, parts.len())?, parts }
        }
        _ => Source::Fill {
            value: node.constant("`fill`")?,
            into: table.get("into").map(|n| n.name("`into`")).transpose()?,
        },
    })
}

fn part_sizes(table: Table<'_>, parts: usize) -> Result<PartSizes, Diagnostic> {
    if let Some(node) = table.get("sizes") {
        let sizes = node.list("`sizes`")?.iter().map(|n| n.size("a size")).collect::<Result<Vec<_>, _>>()?;
        if sizes.len() != parts {
            let message = format!("`concat` has {parts} parts and {} sizes", sizes.len());
            return Err(bad(node.span, message, "these sizes"));
        }
        return Ok(PartSizes::Given(sizes));
    }
    let equal = table.get("equal").map_or(Ok(false), |n| n.truth("`equal`"))?;
    Ok(if equal { PartSizes::Equal } else { PartSizes::Found })
}

fn cut(node: &Node) -> Result<Cut, Diagnostic> {
    let table = node.table("`cut`")?;
    let axis = table.get("axis").map_or(Ok(0), |n| n.size("`axis`"))?;
    if let Some(range) = table.get("range") {
        table.only(&["axis", "range"], "a `cut` with `range`")?;
        let [from, to] = range.list("`range`")? else {
            return Err(bad(range.span, "`range` must have two positions", "here"));
        };
        let (from, to) = (from.size("a position")?, to.size("a position")?);
        return match from <= to {
            true => Ok(Cut::Range { axis, from, to }),
            false => Err(bad(range.span, "`range` ends before it begins", "here")),
        };
    }
    table.only(&["axis", "block", "of"], "a `cut`")?;
    let size = |key: &str| table.need(key, "a `cut`")?.size(&format!("`{key}`"));
    let (block, of) = (size("block")?, size("of")?);
    if block < of {
        Ok(Cut::Block { axis, block, of })
    } else {
        Err(bad(node.span, "there is no such block", "here"))
    }
}

/// The steps under `steps`, or the single step beside the source.
fn steps(table: Table<'_>) -> Result<Vec<Step>, Diagnostic> {
    let mut found: Vec<Step> = one_step(table)?.into_iter().collect();
    if let Some(node) = table.get("steps") {
        if !found.is_empty() {
            return Err(bad(node.span, "a step stands beside `steps`", "put it into this list"));
        }
        for item in node.list("`steps`")? {
            let inner = item.table("a step")?;
            inner.only(&STEPS, "a step")?;
            let step = one_step(inner)?.ok_or_else(|| bad(item.span, "a step is empty", "here"))?;
            found.push(step);
        }
    }
    Ok(found)
}

fn one_step(table: Table<'_>) -> Result<Option<Step>, Diagnostic> {
    let there: Vec<&str> = STEPS.into_iter().filter(|key| table.get(key).is_some()).collect();
    let key = match there[..] {
        [] => return Ok(None),
        [key] => key,
        _ => {
            let d = bad(
                table.span,
                "several steps have no order",
                format!("{} stand here", listed(there.into_iter())),
            );
            return Err(d.help("write them as a list: steps = [{ rearrange = .. }, { flip = .. }]"));
        }
    };
    let node = table.need(key, "a step")?;
    Ok(Some(match key {
        "rearrange" => Step::Rearrange(rearrange(node)?),
        "reorder" => reorder(node)?,
        _ => Step::Flip { axis: node.size("`flip`, the axis,")? },
    }))
}

fn rearrange(node: &Node) -> Result<Rearrange, Diagnostic> {
    let mut sizes = Sizes::new();
    let axes = match &node.data {
        Item::Text(_) => node,
        _ => {
            let table = node.table("`rearrange`")?;
            for (name, size) in table.iter().filter(|(name, _)| name.text != "axes") {
                // an option without a value is ignored
                if !matches!(&size.data, Item::Text(text) if text.is_empty()) {
                    sizes.insert(name.text.clone(), size.size("the size of an axis")?);
                }
            }
            table.need("axes", "a `rearrange`")?
        }
    };
    let text = axes.text("`axes`")?;
    Rearrange::parse(text, sizes).map_err(|why| {
        bad(node.span, format!("`{text}` is not an arrangement of axes"), why)
            .help("write it like \"o i -> i o\"")
    })
}

fn reorder(node: &Node) -> Result<Step, Diagnostic> {
    let table = node.table("`reorder`")?;
    table.only(&["axis", "blocks"], "a `reorder`")?;
    let axis = table.get("axis").map_or(Ok(0), |n| n.size("`axis`"))?;
    let node = table.need("blocks", "a `reorder`")?;
    let text = node.text("`blocks`")?;
    let wrong = |why: &str| {
        bad(node.span, format!("`{text}` is not an order of blocks"), why)
            .help("write it like \"i f g o -> f i o g\"")
    };
    let (from, to) = text.split_once("->").ok_or_else(|| wrong("there is no `->` in it"))?;
    let (from, to): (Vec<&str>, Vec<&str>) =
        (from.split_whitespace().collect(), to.split_whitespace().collect());
    let order: Option<Vec<usize>> = to.iter().map(|name| from.iter().position(|n| n == name)).collect();
    let order = order.filter(|order| {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        !order.is_empty() && sorted.into_iter().eq(0..from.len())
    });
    Ok(Step::Reorder {
        axis,
        order: order.ok_or_else(|| wrong("the two sides do not have the same blocks"))?,
    })
}

impl Expr {
    /// Calls `f` with every tensor of the expression, and whether it may be absent.
    pub(crate) fn tensors<'e>(&'e self, f: &mut dyn FnMut(&'e Name, bool)) {
        match &self.source {
            Source::Tensor { name, absent, .. } => f(name, absent.is_some()),
            Source::Sum(parts) | Source::Concat { parts, .. } | Source::Stack { parts, .. } => {
                parts.iter().for_each(|part| part.tensors(f));
            }
            Source::Fill { .. } => {}
        }
    }

    /// Whether a file has all tensors of the expression.
    pub(crate) fn is_in(&self, file: &TensorFile) -> bool {
        let mut all = true;
        self.tensors(&mut |name, may_lack| all &= may_lack || file.tensors.contains_key(&name.text));
        all
    }
}
