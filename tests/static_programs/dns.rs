//! A name server that knows one name, `elsewhere.example`, at 127.0.0.1. It listens on an address of its own in the loopback
//! range, on the port that no resolver lets one choose.

use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

/// Nothing else of a machine is here.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 53, 9, 1);
/// `elsewhere.example` as a question spells it.
const NAME: &[u8] = b"\x09elsewhere\x07example\x00";
/// Length of the header in front of the question.
const HEADER: usize = 12;

/// Starts it and answers its address; the thread ends with the test program.
pub fn start() -> Ipv4Addr {
    let socket = UdpSocket::bind((ADDRESS, 53)).expect("port 53 of a loopback address");
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, client)) = socket.recv_from(&mut buffer) {
            if let Some(answer) = answer(&buffer[..length]) {
                let _ = socket.send_to(&answer, client);
            }
        }
    });
    ADDRESS
}

/// The answer to a question: one address for the name, none of version 6, and no such name for any other.
fn answer(query: &[u8]) -> Option<Vec<u8>> {
    let question = query.get(HEADER..)?;
    let name_length = question.iter().position(|byte| *byte == 0)? + 1;
    // Type and class follow the name.
    let question = question.get(..name_length + 4)?;
    let known = question[..name_length].eq_ignore_ascii_case(NAME);
    let asks_for_ipv4 = question[name_length..name_length + 2] == [0, 1];
    let found = known && asks_for_ipv4;

    let mut answer = query[..2].to_vec();
    answer.extend([0x81, if known { 0x80 } else { 0x83 }]);
    answer.extend([0, 1, 0, u8::from(found), 0, 0, 0, 0]);
    answer.extend(question);
    if found {
        // The name by reference to the question; type A, class IN, 60 s, four bytes.
        answer.extend([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}
