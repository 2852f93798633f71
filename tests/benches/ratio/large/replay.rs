//! A server that answers reads from memory: what a server has once answered, it answers again, so that a measurement shows the client
//! alone. All other commands go to the server.

use crate::Result;
use mongodb::bson::RawDocument;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const HEADER: usize = 16;
/// Behind the header: flags, and the kind of the section.
const BODY: usize = HEADER + 5;
const READS: [&str; 2] = ["find", "getMore"];
/// What differs between two requests for the same.
const OF_THE_REQUEST: [&str; 3] = ["lsid", "$clusterTime", "txnNumber"];

type Answers = Arc<Mutex<HashMap<Vec<u8>, Arc<Vec<u8>>>>>;

/// Begins to answer, and gives the address. It ends with the process.
pub fn start(server: String) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let answers = Answers::default();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, answers) = (server.clone(), answers.clone());
            // An end of the connection on either side ends the thread.
            thread::spawn(move || serve(client, &server, &answers));
        }
    });
    Ok(address)
}

fn serve(mut client: TcpStream, server: &str, answers: &Answers) -> Option<()> {
    let mut server = TcpStream::connect(server).ok()?;
    client.set_nodelay(true).ok()?;
    server.set_nodelay(true).ok()?;
    // How often each cursor was asked for more: its batches differ, and its commands do not.
    let mut asked: HashMap<Vec<u8>, u32> = HashMap::new();
    loop {
        let request = message(&mut client)?;
        let key = key(&request, &mut asked);
        let known = key
            .as_ref()
            .and_then(|key| answers.lock().ok()?.get(key).cloned());
        let answer = match known {
            Some(answer) => answer,
            None => {
                server.write_all(&request).ok()?;
                let answer = Arc::new(message(&mut server)?);
                if let Some(key) = key {
                    answers.lock().ok()?.insert(key, answer.clone());
                }
                answer
            }
        };
        // To the request that has come.
        let mut header: [u8; HEADER] = *answer.first_chunk()?;
        header[8..12].copy_from_slice(request.get(4..8)?);
        client.write_all(&header).ok()?;
        client.write_all(answer.get(HEADER..)?).ok()?;
    }
}

fn message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = vec![0; HEADER];
    from.read_exact(&mut message).ok()?;
    let len = i32::from_le_bytes(*message.first_chunk()?);
    message.resize(usize::try_from(len).ok()?.max(HEADER), 0);
    from.read_exact(message.get_mut(HEADER..)?).ok()?;
    Some(message)
}

/// The command without what belongs to the request; `None` of one that is no read.
fn key(request: &[u8], asked: &mut HashMap<Vec<u8>, u32>) -> Option<Vec<u8>> {
    let body = request.get(BODY..)?;
    let len = usize::try_from(i32::from_le_bytes(*body.first_chunk()?)).ok()?;
    let command = RawDocument::from_bytes(body.get(..len)?).ok()?;
    let mut key = Vec::new();
    let mut name = None;
    for element in command.iter() {
        let (field, value) = element.ok()?;
        let is_read = *name.get_or_insert_with(|| READS.contains(&field.as_str()));
        if !is_read {
            return None;
        }
        if !OF_THE_REQUEST.contains(&field.as_str()) {
            key.extend_from_slice(format!("{}={value:?};", field.as_str()).as_bytes());
        }
    }
    if key.starts_with(b"getMore") {
        let times = asked.entry(key.clone()).or_default();
        *times += 1;
        key.extend_from_slice(&times.to_le_bytes());
    } else {
        // The first batch begins the cursor again.
        asked.clear();
    }
    Some(key)
}
