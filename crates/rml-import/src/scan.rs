//! How much a file makes the decoder allocate, found out before it is decoded: a message of two bytes may become a
//! structure of hundreds.

/// The most parts (messages, texts, numbers) of a model.
const PARTS: usize = 8_000_000;

/// How deeply graphs may be nested: a branch in a branch in a branch.
const DEPTH: usize = 60;

/// The messages that have parts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Sparse,
    Function,
    /// Whatever else: its own parts are few.
    Other,
}

/// The kind of a field that is a message; `None` for one that is a text or an array.
fn kind(of: Kind, tag: u64) -> Option<Kind> {
    let fields: &[(u64, Kind)] = match of {
        Kind::Model => &[(7, Kind::Graph), (8, Kind::Other), (9, Kind::Other), (25, Kind::Function)],
        Kind::Graph => &[
            (1, Kind::Node),
            (5, Kind::Tensor),
            (11, Kind::Other),
            (12, Kind::Other),
            (13, Kind::Other),
            (15, Kind::Sparse),
        ],
        Kind::Node => &[(5, Kind::Attribute)],
        Kind::Attribute => &[(5, Kind::Tensor), (6, Kind::Graph)],
        Kind::Tensor => &[(13, Kind::Other)],
        Kind::Sparse => &[(1, Kind::Tensor)],
        Kind::Function => &[(7, Kind::Node), (8, Kind::Other), (9, Kind::Other), (11, Kind::Attribute)],
        Kind::Other => &[],
    };
    fields.iter().find(|(field, _)| *field == tag).map(|(_, kind)| *kind)
}

/// Whether a file has at most as many parts as a model may have.
///
/// # Errors
/// Why not.
pub(crate) fn scan(bytes: &[u8]) -> Result<(), String> {
    let mut parts = 0;
    message(bytes, Kind::Model, 0, &mut parts)
}

fn message(bytes: &[u8], of: Kind, depth: usize, parts: &mut usize) -> Result<(), String> {
    if depth > DEPTH {
        return Err(format!("its graphs are nested more than {} deep", DEPTH / 3));
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        *parts += 1;
        match key & 7 {
            0 => drop(varint(&mut rest)?),
            1 => drop(take(&mut rest, 8)?),
            2 => {
                let length = varint(&mut rest)?;
                let part = take(&mut rest, usize::try_from(length).unwrap_or(usize::MAX))?;
                match kind(of, key >> 3) {
                    Some(inner) => message(part, inner, depth + 1, parts)?,
                    None if of == Kind::Other => *parts += part.len() / 4,
                    None => {}
                }
            }
            5 => drop(take(&mut rest, 4)?),
            other => {
                return Err(format!("a field has the wire type {other}, which the format does not have"));
            }
        }
        if *parts > PARTS {
            return Err(format!("it has more than {PARTS} parts"));
        }
    }
    Ok(())
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0_u64;
    for (i, &byte) in rest.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f) << (7 * i).min(63);
        if byte < 0x80 {
            *rest = &rest[i + 1..];
            return Ok(value);
        }
    }
    Err("it ends inside a number".into())
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Result<&'b [u8], String> {
    let (part, after) = rest
        .split_at_checked(length)
        .ok_or_else(|| format!("a field of {length} bytes goes beyond its end"))?;
    *rest = after;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        assert!(scan(&[0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]).unwrap_err().contains("beyond its end"));
        assert!(scan(&[0x3a, 0x80]).unwrap_err().contains("inside a number"));
        assert!(scan(&[0x3b]).unwrap_err().contains("wire type 3"));
        assert_eq!(scan(&[0x3a, 0]), Ok(()));
    }

    #[test]
    fn empty_nodes_without_end_are_refused() {
        let nodes: Vec<u8> = [0x0a, 0].repeat(PARTS);
        let mut model = vec![0x3a];
        prost::encoding::encode_varint(nodes.len() as u64, &mut model);
        model.extend(nodes);
        assert!(scan(&model).unwrap_err().contains("parts"));
    }

    #[test]
    fn graphs_in_graphs_without_end_are_refused() {
        let mut graph = Vec::new();
        for _ in 0..40 {
            for tag in [0x32, 0x2a, 0x0a] {
                let mut outer = vec![tag];
                prost::encoding::encode_varint(graph.len() as u64, &mut outer);
                outer.extend(graph);
                graph = outer;
            }
        }
        let mut model = vec![0x3a];
        prost::encoding::encode_varint(graph.len() as u64, &mut model);
        model.extend(graph);
        assert!(scan(&model).unwrap_err().contains("nested"));
    }
}
