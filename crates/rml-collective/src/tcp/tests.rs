use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use super::*;
use crate::all_gather;

/// A port that was free a moment ago.
fn port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn meeting(rank: usize, size: usize, port: u16) -> Rendezvous {
    let place = MeetingPoint::Address { host: "127.0.0.1".to_owned(), port };
    let (host, version) = ("here".to_owned(), "1".to_owned());
    Rendezvous { rank, size, host, version, place, patience: Duration::from_secs(60) }
}

/// Runs a function in each rank of a group.
fn each<T: Send + 'static>(size: usize, run: impl Fn(Tcp) -> T + Clone + Send + 'static) -> Vec<T> {
    let port = port();
    let start = |rank| {
        let run = run.clone();
        thread::spawn(move || run(Tcp::join(&meeting(rank, size, port)).unwrap()))
    };
    let ranks: Vec<JoinHandle<T>> = (0..size).rev().map(start).collect();
    ranks.into_iter().rev().map(|rank| rank.join().unwrap()).collect()
}

fn pattern(from: usize, to: usize, round: usize) -> Vec<u8> {
    let len = [0, 1, 1000, 3_000_000][(from + 2 * to + round) % 4];
    (0..len).map(|i| (i + 7 * from + 31 * to + round) as u8).collect()
}

/// Long messages in both directions at a time, too.
#[test]
fn every_rank_gets_what_the_others_send() {
    for size in [1, 2, 3, 5] {
        each(size, move |mut group| {
            let rank = group.rank();
            for round in 0..4 {
                let to = (0..size).map(|to| pattern(rank, to, round)).collect();
                let got = group.exchange(to).unwrap();
                let wanted: Vec<_> = (0..size).map(|from| pattern(from, rank, round)).collect();
                assert!(got == wanted, "rank {rank} in round {round}");
            }
        });
    }
}

#[test]
fn a_rank_that_fails_says_why() {
    let found = each(3, |mut group| {
        all_gather(&mut group, b"a").unwrap();
        if group.rank() == 1 {
            group.fail("the disk is full");
            return String::new();
        }
        let error = all_gather(&mut group, b"b").unwrap_err();
        group.fail(&error.message);
        error.to_string()
    });
    for text in [&found[0], &found[2]] {
        assert!(text.contains("rank 1 on here (process ") && text.contains("the disk is full"), "{text}");
    }
}

/// Whoever learns it first tells the others, and all name the rank that failed.
#[test]
fn ranks_name_the_first_one_that_failed() {
    let found = each(4, |mut group| {
        if group.rank() == 2 {
            group.fail("the disk is full");
            return String::new();
        }
        let error = all_gather(&mut group, b"b").unwrap_err();
        group.fail(&error.message);
        error.to_string()
    });
    for text in found.iter().filter(|text| !text.is_empty()) {
        let named = text.contains("rank 2 on here") && text.contains("its error: the disk is full");
        assert!(named && !text.contains("so this one ends, too, so"), "{text}");
    }
}

#[test]
fn a_rank_that_is_gone_is_named() {
    let found = each(2, |mut group| {
        if group.rank() == 1 { String::new() } else { all_gather(&mut group, b"b").unwrap_err().to_string() }
    });
    assert!(found[0].contains("rank 1 on here") && found[0].contains("is gone"), "{}", found[0]);
}

/// The other rank lives, and does nothing until this one has given it up.
#[test]
fn a_rank_that_does_not_answer_is_given_up() {
    let (given_up, wait) = std::sync::mpsc::channel();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let given_up = std::sync::Arc::new(std::sync::Mutex::new(given_up));
    let found = each(2, move |mut group| {
        if group.rank() == 1 {
            wait.lock().unwrap().recv().unwrap();
            return String::new();
        }
        group.patience = Duration::from_millis(20);
        let error = all_gather(&mut group, b"b").unwrap_err().to_string();
        given_up.lock().unwrap().send(()).unwrap();
        error
    });
    assert!(found[0].contains("nothing came from there for 0.02 s"), "{}", found[0]);
}

fn refused(meeting: &Rendezvous) -> String {
    let error = Tcp::join(meeting).map(|_| ()).unwrap_err();
    let code = error.code.to_string();
    format!("{code}: {error}")
}

#[test]
fn a_missing_rank_is_named() {
    let patience = Duration::from_millis(50);
    let found = refused(&Rendezvous { patience, ..meeting(0, 3, port()) });
    assert!(found.starts_with("no-peers") && found.contains("rank 0 of 3"), "{found}");
    assert!(found.contains("after 0.05 s 1 of them are there") && found.contains("ranks 1, 2"), "{found}");
    let found = refused(&Rendezvous { patience, ..meeting(2, 3, port()) });
    assert!(found.contains("nothing answers there") && found.contains("127.0.0.1:"), "{found}");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let found = refused(&meeting(0, 2, taken.local_addr().unwrap().port()));
    assert!(found.contains("rank 0 cannot listen there") && found.contains("MASTER_PORT"), "{found}");
}

#[test]
fn ranks_that_do_not_belong_together_are_refused() {
    for (other, why) in [
        (Rendezvous { version: "2".to_owned(), ..meeting(1, 2, 0) }, "is rml 2, and rank 0 is 1"),
        (meeting(1, 3, 0), "counts 3 ranks, and rank 0 counts 2"),
    ] {
        let port = port();
        let place = MeetingPoint::Address { host: "127.0.0.1".to_owned(), port };
        let comes = thread::spawn(move || refused(&Rendezvous { place, ..other }));
        let found = refused(&meeting(0, 2, port));
        assert!(found.starts_with("ranks-differ") && found.contains(why), "{found}");
        let found = comes.join().unwrap();
        assert!(found.contains("look at the output of rank 0") || found.contains("reset"), "{found}");
    }
}

/// A visitor who says nothing that a rank would say.
#[test]
fn strangers_are_not_answered() {
    let port = port();
    let first = thread::spawn(move || Tcp::join(&meeting(0, 2, port)).map(|group| group.size()));
    let mut stranger = loop {
        if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
            break stream;
        }
    };
    std::io::Write::write_all(&mut stranger, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let other = Tcp::join(&meeting(1, 2, port)).unwrap();
    assert_eq!((first.join().unwrap().unwrap(), other.size()), (2, 2));
}

/// The address of rank 0 comes from a server of keys and values.
#[test]
fn ranks_meet_by_a_store() {
    let store = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = store.local_addr().unwrap().port();
    let server = thread::spawn(move || serve(&store));
    let place = MeetingPoint::Store { host: "localhost".to_owned(), port, key: "rml/0".to_owned() };
    let join = |rank| {
        let place = place.clone();
        thread::spawn(move || {
            let mut group = Tcp::join(&Rendezvous { place, ..meeting(rank, 2, 0) }).unwrap();
            all_gather(&mut group, &[rank as u8]).unwrap()
        })
    };
    for rank in [join(0), join(1)] {
        assert_eq!(rank.join().unwrap(), [[0], [1]]);
    }
    server.join().unwrap();
}

/// Serves one client that sets a value, and one that waits for it.
fn serve(listener: &TcpListener) {
    use std::io::{Read as _, Write as _};

    fn bytes<const N: usize>(from: &mut TcpStream) -> [u8; N] {
        let mut bytes = [0; N];
        from.read_exact(&mut bytes).unwrap();
        bytes
    }
    fn text(from: &mut TcpStream) -> Vec<u8> {
        let mut text = vec![0; u64::from_ne_bytes(bytes(from)) as usize];
        from.read_exact(&mut text).unwrap();
        text
    }
    let (mut value, mut waiting) = (None, None);
    for _ in 0..2 {
        let (mut client, _) = listener.accept().unwrap();
        assert_eq!(bytes::<1>(&mut client), [0]);
        assert_eq!(u32::from_ne_bytes(bytes(&mut client)), 0x3C85_F7CE);
        match bytes::<1>(&mut client) {
            [1] => {
                assert_eq!(text(&mut client), b"rml/0");
                value = Some(text(&mut client));
            }
            [6] => {
                assert_eq!(u64::from_ne_bytes(bytes(&mut client)), 1);
                assert_eq!(text(&mut client), b"rml/0");
                waiting = Some(client);
            }
            other => panic!("a query {other:?}"),
        }
    }
    let (value, mut client) = (value.unwrap(), waiting.unwrap());
    client.write_all(&[0]).unwrap();
    assert_eq!(bytes::<1>(&mut client), [3]);
    assert_eq!(text(&mut client), b"rml/0");
    client.write_all(&(value.len() as u64).to_ne_bytes()).unwrap();
    client.write_all(&value).unwrap();
}
