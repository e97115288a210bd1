//! Advice on how to fix data that does not fit: missing columns, columns of another shape, cells that contain texts.

use std::path::Path;

use rml_base::{Diagnostic, suggest, visible_name};
use rml_ir::{DType, InputInfo, Shape};

use crate::columns::{Column, Columns, Elements, LENGTHS};
use crate::dialect::{Known, is_table, plain};
use crate::filling::Filling;
use crate::malformed::Malformed;

/// The most names that a message lists if it does not list all.
const NAMED: usize = 4;
/// The most names that a message lists if it lists all.
pub(crate) const WRITTEN: usize = 16;

/// Adds advice on how to supply a missing column of an input, without the flag that names columns of the file.
pub(crate) fn supplied(
    d: Diagnostic,
    columns: &Columns,
    (input, inputs): (&InputInfo, &[InputInfo]),
    shapes: &[&str],
) -> Diagnostic {
    let names: Vec<&str> =
        columns.columns.keys().chain(columns.unusable.keys()).map(String::as_str).collect();
    let is_csv = is_table(Path::new(columns.first_file()));
    if names.is_empty() && columns.origin.is_empty() {
        return d.help(format!("give a file with a column `{}` (`--inputs FILE`)", input.name));
    }
    if is_csv && names.iter().enumerate().all(|(i, name)| *name == i.to_string()) {
        return d
            .note("no line of the file names the columns")
            .help(format!("say which columns feed the inputs: {}", numbered(inputs, names.len())))
            .help(format!("or put a line of names above the numbers: `{}`", header(inputs, names.len())));
    }
    if is_csv && names.iter().any(|name| name.parse::<f64>().is_ok_and(|x| x.fract() != 0.0)) {
        return d.help("if the first line is a row and names no columns, say so: `--no-header`");
    }
    if let (true, Some(help)) = (is_csv, blanks(&names)) {
        return d.help(help);
    }
    let is_unnamed = |name: &&str| name.strip_prefix("arr_").is_some_and(|n| n.parse::<usize>().is_ok());
    if names.iter().all(is_unnamed) && !names.is_empty() {
        return d
            .note("NumPy's `savez` numbers arrays that are given without a name")
            .help(format!("give each array a name: `np.savez(FILE, {}=..)`", input.name));
    }
    let same = |name: &&&str| name.eq_ignore_ascii_case(&input.name);
    let spread = spread(input, &names);
    let renames = if spread.is_none() && !names.iter().any(|name| same(&name)) {
        renames(columns, &names, (input, inputs), is_csv)
    } else {
        None
    };
    if let Some(help) = wrapped(columns, &names) {
        return d.help(help);
    }
    if let Some(pairs) = renames {
        let shown = pairs.iter().map(|(from, to)| format!("`{from}` to `{to}`")).collect::<Vec<_>>();
        let d = d.help(format!("rename {}", shown.join(", ")));
        return match flag(input, is_csv, pairs.iter().map(|(from, _)| *from)) {
            Some(flag) => d.help(format!("or say that they feed the input: {flag}")),
            None => d,
        };
    }
    let d = if let Some(name) = names.iter().find(same) {
        d.help(format!("capital and small letters differ: rename `{name}` to `{}`", input.name))
    } else if let Some(numbered) = &spread {
        let renamed = numbered.iter().zip(elements(input)).map(|(from, to)| format!("`{from}` to `{to}`"));
        let more = if numbered.len() > NAMED { ", .." } else { "" };
        d.help(format!("rename {}{more}", renamed.take(NAMED).collect::<Vec<_>>().join(", ")))
    } else if let Some(near) = suggest(&input.name, names.iter().copied()) {
        d.help(format!("there is `{near}`"))
    } else {
        d
    };
    if let Some(name) = only(columns, &names, (input, inputs))
        && let Some(flag) = flag(input, is_csv, std::iter::once(name))
    {
        return d.help(format!("if `{name}` is meant, say so: {flag}"));
    }
    if let Some((first, last)) = numbered_like(input, &names)
        && spread.is_none()
    {
        return d.help(format!(
            "if it is `{first}` to `{last}`, say so: `--columns '{}={first}..{last}'`",
            input.name
        ));
    }
    if is_csv && !row_shape(input).is_empty() && spread.is_none() {
        let elements: Vec<String> = elements(input).iter().map(|name| format!("`{name}`")).collect();
        return d.help(format!("in CSV each element is a column of its own: {}", elements.join(", ")));
    }
    match spread {
        Some(_) => d,
        None => d.help(format!("add a column `{}`: {} {}", input.name, input.ty.dtype, shapes.join(" or "))),
    }
}

/// Advice for a table whose only column has a name with blanks in it.
pub(crate) fn blanks(names: &[&str]) -> Option<String> {
    let [name] = names else { return None };
    let cells = name.split_whitespace().count();
    (cells > 1).then(|| {
        format!("if blanks separate cells, say so: `--separator ' '` reads {cells} names in the first line")
    })
}

/// The columns of a CSV file for the elements of an input, `x[0]` and so on; shortened if there are many.
fn elements(input: &InputInfo) -> Vec<String> {
    first_elements(input, NAMED)
}

/// The first columns for the elements of an input, at most `limit`.
fn first_elements(input: &InputInfo, limit: usize) -> Vec<String> {
    let dims = row_shape(input);
    let count: usize = dims.iter().product();
    if dims.is_empty() {
        return vec![input.name.to_string()];
    }
    let name = |mut i: usize| {
        let mut place = vec![0; dims.len()];
        for (at, d) in place.iter_mut().zip(dims).rev() {
            (*at, i) = (i % d.max(&1), i / d.max(&1));
        }
        let place: Vec<String> = place.iter().map(ToString::to_string).collect();
        let name = format!("{}[{}]", input.name, place.join(","));
        if dims.len() > 1 { format!("\"{name}\"") } else { name }
    };
    let mut names: Vec<String> = (0..count.min(limit)).map(name).collect();
    if count > limit {
        names.push("..".to_owned());
    }
    names
}

/// The first line of a CSV file with this many columns, for all inputs.
fn header(inputs: &[InputInfo], columns: usize) -> String {
    let count: usize = inputs.iter().map(|input| row_shape(input).iter().product::<usize>()).sum();
    let limit = if count == columns && count <= WRITTEN { count } else { NAMED };
    inputs.iter().flat_map(|input| first_elements(input, limit)).collect::<Vec<_>>().join(",")
}

/// The flags that assign the columns of a table without names to the inputs, in this order.
fn numbered(inputs: &[InputInfo], columns: usize) -> String {
    let size = |input: &InputInfo| row_shape(input).iter().product::<usize>().max(1);
    let fits = inputs.iter().map(size).sum::<usize>() == columns;
    let mut next = 0;
    let flags = inputs.iter().map(|input| {
        let first = next;
        next += size(input);
        match row_shape(input).is_empty() {
            true => format!("--columns {}={first}", input.name),
            false => format!("--columns {}={first}..{}", input.name, next - 1),
        }
    });
    let flags: Vec<String> = flags.collect();
    let flags = format!("`{}`", flags.join(" "));
    if fits { flags } else { format!("{flags}, or others") }
}

/// The flag that assigns these columns to an input, if a shell needs no further quotes for it.
pub(crate) fn flag<'a>(
    input: &InputInfo,
    is_csv: bool,
    names: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let quoted = |name: &str| match name.contains(',') || name.contains("..") {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    };
    let mut names: Vec<String> = names.map(quoted).collect();
    if let ([name], false) = (&mut names[..], row_shape(input).is_empty() || !is_csv) {
        // A vector of one element.
        *name = format!("{name}..{name}");
    }
    let is_plain = names.iter().all(|name| !name.contains(['\'', '`', '"', '\n']));
    (is_plain && row_shape(input).len() <= 1)
        .then(|| format!("`--columns '{}={}'`", input.name, names.join(",")))
}

/// The shape of one row of an input.
pub(crate) fn row_shape(input: &InputInfo) -> &[usize] {
    let dims = input.ty.shape.dims();
    if input.batched { dims.get(1..).unwrap_or_default() } else { dims }
}

/// The columns to rename: either the data has exactly as many unused columns as the inputs without one need, or an
/// unused column has a longer name, such as `x_train`.
fn renames<'a>(
    columns: &Columns,
    names: &[&'a str],
    (input, inputs): (&InputInfo, &[InputInfo]),
    is_csv: bool,
) -> Option<Vec<(&'a str, String)>> {
    let is_input = |name: &&str| *name == LENGTHS || inputs.iter().any(|i| *i.name == **name);
    let free: Vec<&str> = names.iter().copied().filter(|name| !is_input(name)).collect();
    let is_longer = |name: &&&str| {
        let rest = name.to_ascii_lowercase();
        let rest = rest.strip_prefix(&input.name.to_ascii_lowercase()).map(str::to_owned);
        rest.is_some_and(|rest| rest.starts_with(['_', '-', '.', ' ']) && rest.ends_with(char::is_alphabetic))
    };
    let mut longer = free.iter().filter(is_longer);
    if let (Some(name), None) = (longer.next(), longer.next()) {
        return Some(vec![(*name, input.name.to_string())]);
    }
    let lacking: Vec<&InputInfo> = inputs.iter().filter(|i| !columns.mentions(&i.name)).collect();
    let needs = |i: &InputInfo| if is_csv { row_shape(i).iter().product() } else { 1 };
    let count: usize = lacking.iter().map(|i| needs(i)).sum();
    if count != free.len() || count > WRITTEN || !is_csv && lacking.len() > 1 {
        return None;
    }
    let before: usize = lacking.iter().take_while(|i| i.name != input.name).map(|i| needs(i)).sum();
    let own = if is_csv { first_elements(input, WRITTEN) } else { vec![input.name.to_string()] };
    Some(free.get(before..)?.iter().copied().zip(own).collect())
}

/// The only numeric column of the type of an input whose name is not that of an input.
fn only<'a>(
    columns: &Columns,
    names: &[&'a str],
    (input, inputs): (&InputInfo, &[InputInfo]),
) -> Option<&'a str> {
    let is_input = |name: &str| name == LENGTHS || inputs.iter().any(|i| *i.name == *name);
    let fits = |name: &&&str| {
        let Some(column) = columns.columns.get(**name) else { return false };
        let of_type = match input.ty.dtype {
            DType::Bool => matches!(column.elements, Elements::Bool(_)),
            DType::Int => matches!(column.elements, Elements::Int(_)),
            DType::Num => !matches!(column.elements, Elements::Bool(_)),
        };
        of_type && !is_input(name) && column.shape.dims().get(1..) == Some(row_shape(input))
    };
    let mut free = names.iter().filter(fits);
    let first = free.next().filter(|_| free.next().is_none())?;
    Some(first)
}

/// Advice for a JSON document whose rows are the value of one entry.
fn wrapped(columns: &Columns, names: &[&str]) -> Option<String> {
    let [name] = names else { return None };
    let is_rows = matches!(*name, "data" | "rows" | "records" | "items" | "samples" | "examples");
    let is_json = columns.first_file().to_ascii_lowercase().ends_with(".json");
    (is_rows && is_json).then(|| {
        format!(
            "`{name}` holds the rows: write its list alone, `[{{..}}, {{..}}]`, without the object around it"
        )
    })
}

/// Columns that are named like the elements of an input of one dimension, but in another notation: `x0`, `x_1`, `x.2`.
fn spread<'a>(input: &InputInfo, names: &[&'a str]) -> Option<Vec<&'a str>> {
    let dims = input.ty.shape.dims();
    let dims = if input.batched { dims.get(1..).unwrap_or_default() } else { dims };
    let &[count] = dims else { return None };
    let number = |name: &str| {
        let rest = name.strip_prefix(&*input.name)?;
        let rest = rest.trim_start_matches(['_', '.', '-', ' ', '(']).trim_end_matches(')');
        rest.parse::<usize>().ok()
    };
    let mut found: Vec<(usize, &str)> =
        names.iter().filter_map(|name| Some((number(name)?, *name))).collect();
    found.sort_unstable();
    let first = found.first()?.0;
    let follow = found.iter().enumerate().all(|(i, (number, _))| *number == first + i);
    (found.len() == count && follow).then(|| found.into_iter().map(|(_, name)| name).collect())
}

/// If as many consecutive columns as an input of one dimension has elements share a name followed by a number, such as
/// `pixel0` to `pixel63`: the first and the last of them.
fn numbered_like<'a>(input: &InputInfo, names: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let &[count] = row_shape(input) else { return None };
    let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let is_run = |run: &&[&str]| {
        let stem = stem(run[0]);
        let first = run[0][stem.len()..].parse::<usize>();
        let follow = |(i, name): (usize, &&str)| {
            let number = name.strip_prefix(&*stem).and_then(|number| number.parse::<usize>().ok());
            number == first.as_ref().ok().map(|first| first + i)
        };
        !stem.is_empty() && first.is_ok() && run.iter().enumerate().all(follow)
    };
    let run = names.windows(count.max(1)).find(is_run).filter(|run| run.len() > 1)?;
    Some((run.first()?, run.last()?))
}

/// Explains why a column has another shape than its input.
pub(crate) fn shape(d: Diagnostic, input: &InputInfo, column: &Column) -> Diagnostic {
    let dims = column.shape.dims();
    let (rest, cell) = (dims.get(1..).unwrap_or_default(), row_shape(input));
    let size = |dims: &[usize]| dims.iter().product::<usize>();
    let several = size(rest).checked_div(size(cell)).filter(|n| *n > 1 && size(rest) == n * size(cell));
    let sequence = several.filter(|_| rest.len() == 1 && cell.len() == 1);
    let d = other_shape(d, input, column);
    match sequence {
        Some(cycles) => d.help(format!(
            "if a row is {cycles} cycles of {}: in NumPy, `{}.reshape(-1, {cycles}, {})`",
            Shape::new(cell),
            input.name,
            size(cell)
        )),
        None => d,
    }
}

/// The same, for a column that is read cycle by cycle.
pub(crate) fn shape_by_cycle(d: Diagnostic, input: &InputInfo, column: &Column) -> Diagnostic {
    let dims = column.shape.dims();
    let (rest, cell, name) = (dims.get(1..).unwrap_or_default(), row_shape(input), &input.name);
    if input.batched && rest == cell {
        return d
            .note("in each cycle, the input takes a batch of values")
            .help("with `--batch 1`, a row of the data is a cycle");
    }
    if rest.len() == cell.len() + 1 && rest.get(1..) == Some(cell) && !input.batched {
        return d
            .note("these are windows, and one run is one of them")
            .help(format!("take one: in NumPy, `{name}[0]`"));
    }
    if rest.len() == cell.len() + 1 && rest.get(1..) == Some(cell) {
        return d.note(format!("a row holds {} cycles, and one run is one row of them", rest[0])).help(format!(
            "give the cycles of one window, a row for each: in NumPy, `{name}[0]`, as a run with `--batch 1`"
        ));
    }
    other_shape(d, input, column)
}

fn other_shape(d: Diagnostic, input: &InputInfo, column: &Column) -> Diagnostic {
    let (name, dims) = (&input.name, column.shape.dims());
    let cell = input.ty.shape.dims();
    let cell = if input.batched { cell.get(1..).unwrap_or_default() } else { cell };
    let declared = |dims: &[usize]| {
        let whole: Vec<String> = dims.iter().map(ToString::to_string).collect();
        let batch = if input.batched { vec!["batch".to_owned()] } else { Vec::new() };
        format!("`{name}: {} [{}]`", input.ty.dtype, [batch, whole].concat().join(", "))
    };
    let rest = dims.get(1..).unwrap_or_default();
    let last = dims.split_last().map_or(&[][..], |(_, front)| front);
    let size = |dims: &[usize]| dims.iter().product::<usize>();
    if dims == cell {
        let one = format!(
            "the first dimension counts rows: for one row, write `\"{name}\": [[..]]` in JSON, in NumPy `{name}[None]`"
        );
        d.help(one).help(format!(
            "or, if these are {} rows, declare the input as {}",
            dims.first().unwrap_or(&0),
            declared(rest)
        ))
    } else if rest.is_empty() && cell.len() == 1 {
        let elements: Vec<String> = elements(input).iter().map(|e| format!("`{e}`")).collect();
        d.help(format!(
            "give each row all elements; in CSV they are columns of their own: {}",
            elements.join(", ")
        ))
        .help(format!("or declare the input as {}", declared(&[])))
    } else if let ([first, rest @ ..], [outer @ .., channels]) = (rest, cell)
        && (first, rest) == (channels, outer)
        && !rest.is_empty()
    {
        d.help(format!("channels come last: in NumPy, `np.moveaxis({name}, 1, -1)`"))
    } else if last == cell {
        d.help(format!("the first dimension counts rows: in NumPy, `np.moveaxis({name}, -1, 0)`"))
    } else if rest.len() != cell.len() && size(rest) == size(cell) {
        let cell: Vec<String> = cell.iter().map(ToString::to_string).collect();
        d.help(format!(
            "the elements of a row are as many: in NumPy, `{name}.reshape(-1, {})`",
            cell.join(", ")
        ))
    } else if rest.len() == cell.len() {
        d.help(format!("declare the input as {}, or store {} in each row", declared(rest), Shape::new(cell)))
    } else if rest.len() == cell.len() + 1 && rest[1..] == *cell {
        d.help(format!(
            "a row of `{name}` already holds {} cycles, which are a window: leave out what cuts rows into windows, such as `--window`",
            rest[0]
        ))
    } else if rest.len() == cell.len() + 1 {
        d.help(format!(
            "declare the input as {}, or store {} in each cycle",
            declared(&rest[1..]),
            Shape::new(cell)
        ))
    } else {
        d.help(format!("store an array {}", prefixed("rows", cell)))
    }
}

/// The finding about a text in a table in place of a value, with advice on what to write or which flag to give.
pub(crate) fn cell(why: Malformed, text: &str, known: &Known) -> Malformed {
    if is_list(text) {
        return why
            .note("a cell of a table has one value; a row with a list is a line of JSON")
            .help("write JSON lines: in pandas, `df.to_json(\"data.jsonl\", orient=\"records\", lines=True)`")
            .help("where pandas has read the lists from such a table, they are texts: `df[NAME].map(json.loads)` before");
    }
    let why = why.help(written(text));
    let reads = |decimal, thousands| {
        plain(text, decimal, thousands).is_some_and(|number| number.parse::<f64>().is_ok())
    };
    let marks = [
        (',', None, "decimal ,"),
        ('.', Some(','), "thousands ,"),
        ('.', None, "decimal ."),
        (',', Some('.'), "thousands ."),
    ];
    let flags = marks.iter().filter(|(decimal, thousands, flag)| {
        reads(*decimal, *thousands) && (flag.starts_with("decimal") != (*decimal == known.decimal))
    });
    let flags: Vec<String> = flags.map(|(_, _, flag)| format!("`--{flag}`")).collect();
    let why = match flags.is_empty() {
        true => why,
        false => {
            why.help(format!("or say what the mark in the numbers of the file means: {}", flags.join(" or ")))
        }
    };
    let is_gap = written(text).contains("leave out the row");
    let can_be_said = is_gap && !text.contains(['\'', '`']);
    if can_be_said {
        why.help(format!("or say that such cells have no value: `--missing '{text}'`"))
    } else {
        why
    }
}

/// Whether a text is a list of numbers as written by Python, NumPy or JSON.
fn is_list(text: &str) -> bool {
    let inner = text.trim().strip_prefix(['[', '(']).and_then(|rest| rest.strip_suffix([']', ')']));
    let is_number = |part: &str| part.is_empty() || part.parse::<f64>().is_ok();
    let number = |c: char| c == ',' || c.is_whitespace() || matches!(c, '[' | ']');
    inner.is_some_and(|inner| inner.chars().any(|c| c.is_ascii_digit()) && inner.split(number).all(is_number))
}

/// The finding about a missing element among others, with advice on how to fill all gaps.
pub(crate) fn gap(why: Malformed, Filling { input, has_mean }: Filling) -> Malformed {
    let mean = if has_mean { format!("`--fill '{input}=mean'` or ") } else { String::new() };
    why.help(format!("or fill all gaps of the input in `rml train`: {mean}`--fill '{input}=0'`"))
}

/// The same for `null` in a list.
pub(crate) fn null(why: Malformed, filling: Filling) -> Malformed {
    gap(why.help("write a number in place of `null`, or leave the row out"), filling)
}

/// Advice on what to write in place of a text where a value is expected.
pub(crate) fn written(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let shown = visible_name(text);
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let number = |text: &str| text.parse::<f64>().is_ok();
    match &*lower {
        "na" | "n/a" | "#n/a" | "null" | "none" | "nil" | "-" | "--" | "?" | "." | "missing" => {
            return format!("in place of `{shown}`, write a value, or leave out the row");
        }
        "yes" | "y" | "on" | "t" | "no" | "n" | "off" | "f" => {
            let value = matches!(&*lower, "yes" | "y" | "on" | "t");
            return format!("write `{value}`: truth values are `true` and `false`");
        }
        _ => {}
    }
    let unsigned = text.trim_start_matches(['-', '+']);
    if let Some((whole, part)) = unsigned.split_once(',') {
        if digits(whole) && digits(part) {
            let sign = &text[..text.len() - unsigned.len()];
            let pointed = format!("write a point in place of the comma: `{sign}{whole}.{part}`");
            return if part.len() == 3 {
                format!("{pointed}; or, for thousands, `{sign}{whole}{part}`")
            } else {
                pointed
            };
        }
        if unsigned.split(',').all(digits) {
            return format!("write the number without commas: `{}`", text.replace(',', ""));
        }
    }
    if let Some(percent) = text.strip_suffix('%').map(str::trim).filter(|t| number(t)) {
        return format!("write the number alone, `{percent}`, or the share");
    }
    if let Some(amount) = text.strip_prefix(['$', '€', '£']).map(str::trim).filter(|t| number(t)) {
        return format!("write the number alone: `{amount}`");
    }
    if let Some(inner) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).filter(|t| number(t)) {
        return format!("write the number without quotes: `{inner}`");
    }
    "write numbers for categories and dates; in `rml train`, texts are the classes of an input that is declared as `int`"
        .to_owned()
}

/// A shape whose first dimensions have names.
pub(crate) fn prefixed(lead: &str, dims: &[usize]) -> String {
    let dims: String = dims.iter().map(|d| format!(", {d}")).collect();
    format!("[{lead}{dims}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_from_each_other() {
        for (text, help) in [
            ("NA", "leave out the row"),
            ("yes", "`true`"),
            ("F", "`false`"),
            ("1,5", "`1.5`"),
            ("-1,000", "`-1.000`; or, for thousands, `-1000`"),
            ("1,000,000", "`1000000`"),
            ("10 %", "`10`"),
            ("$3.5", "`3.5`"),
            ("'3'", "`3`"),
            ("cat", "categories"),
            ("1,x", "categories"),
            (",", "categories"),
        ] {
            assert!(written(text).contains(help), "{text}: {}", written(text));
        }
    }
}
