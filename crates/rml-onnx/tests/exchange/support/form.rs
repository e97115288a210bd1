//! Checks the form of a model, parsed from its bytes.

use std::collections::BTreeSet;

/// A field of a message.
enum Field<'a> {
    Int(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, with their numbers.
fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Int(varint(&mut bytes)?),
            2 => {
                let n = usize::try_from(varint(&mut bytes)?).map_err(|e| e.to_string())?;
                let (head, rest) = bytes.split_at_checked(n).ok_or("a field is cut off")?;
                bytes = rest;
                Field::Bytes(head)
            }
            kind => return Err(format!("a field of kind {kind}")),
        };
        all.push((key >> 3, field));
    }
    Ok(all)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut x = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or("a number is cut off")?;
        *bytes = rest;
        x |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(x);
        }
    }
    Err("a number has more than 64 bits".to_owned())
}

/// The messages or texts with this field number.
fn parts<'a>(all: &[(u64, Field<'a>)], number: u64) -> Vec<&'a [u8]> {
    let part = |(n, field): &(u64, Field<'a>)| match field {
        Field::Bytes(bytes) if *n == number => Some(*bytes),
        _ => None,
    };
    all.iter().filter_map(part).collect()
}

fn texts(all: &[(u64, Field<'_>)], number: u64) -> Vec<String> {
    parts(all, number).into_iter().map(|b| String::from_utf8_lossy(b).into_owned()).collect()
}

/// Checks that a model has its versions, and that every name is defined once, before it is read.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let model = fields(bytes)?;
    if !matches!(model.first(), Some((1, Field::Int(8)))) {
        return Err("the model has another version of the format".to_owned());
    }
    let [graph] = parts(&model, 7)[..] else { return Err("the model has no graph".to_owned()) };
    let mut known = BTreeSet::new();
    check_graph(graph, &mut known)
}

fn check_graph(graph: &[u8], known: &mut BTreeSet<String>) -> Result<(), String> {
    let graph = fields(graph)?;
    let give =
        |known: &mut BTreeSet<String>, name: String, twice: bool| match known.insert(name.clone()) || twice {
            true => Ok(()),
            false => Err(format!("{name} is given twice")),
        };
    for input in parts(&graph, 11) {
        texts(&fields(input)?, 1).into_iter().try_for_each(|name| give(known, name, false))?;
    }
    for tensor in parts(&graph, 5) {
        // A state is an input with a default value.
        texts(&fields(tensor)?, 8).into_iter().try_for_each(|name| give(known, name, true))?;
    }
    for node in parts(&graph, 1) {
        let node = fields(node)?;
        for name in texts(&node, 1).into_iter().filter(|name| !name.is_empty()) {
            if !known.contains(&name) {
                return Err(format!("{name} is read by {:?} and not given", texts(&node, 4)));
            }
        }
        for attribute in parts(&node, 5) {
            for body in parts(&fields(attribute)?, 6) {
                check_graph(body, &mut known.clone())?;
            }
        }
        texts(&node, 2).into_iter().try_for_each(|name| give(known, name, false))?;
    }
    for output in parts(&graph, 12) {
        if let Some(name) = texts(&fields(output)?, 1).into_iter().find(|name| !known.contains(name)) {
            return Err(format!("{name} comes out and is not given"));
        }
    }
    Ok(())
}
