//! Messages of the wire protocol (`OP_MSG`): read from a connection, taken apart, and made.

use bson::{Document, RawDocument, RawDocumentBuf};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The length of the header of a message.
pub const HEADER: usize = 16;

/// The operation code of a message with a command or its reply.
pub const OP_MSG: i32 = 2013;

/// The flag of a request that gets no reply.
pub const MORE_TO_COME: u32 = 2;

/// The next message; `None` at the end of the connection.
pub async fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.ok()?;
    let all = usize::try_from(i32::from_le_bytes(length)).ok()?;
    let mut message = vec![0; all.max(HEADER)];
    message[..4].copy_from_slice(&length);
    stream.read_exact(&mut message[4..]).await.ok()?;
    Some(message)
}

/// The number at a position of a message.
pub fn number(message: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(message.get(at..at + 4)?.try_into().ok()?))
}

/// The section of a message that is the command itself.
pub fn body(message: &[u8]) -> Option<&[u8]> {
    let mut at = HEADER + 4;
    loop {
        let length = usize::try_from(number(message, at + 1)?).ok()?;
        if *message.get(at)? == 0 {
            return message.get(at + 1..at + 1 + length);
        }
        at += 1 + length;
    }
}

/// The command of a message with the lists that stand in sections of their own.
pub fn whole(message: &[u8]) -> Option<Document> {
    if number(message, 12)? != OP_MSG {
        return None;
    }
    let mut command = Document::try_from(RawDocument::from_bytes(body(message)?).ok()?).ok()?;
    let mut at = HEADER + 4;
    while let Some(kind) = message.get(at) {
        let length = usize::try_from(number(message, at + 1)?).ok()?;
        let section = message.get(at + 5..at + 1 + length)?;
        if *kind == 1 {
            let end = section.iter().position(|byte| *byte == 0)?;
            let name = std::str::from_utf8(&section[..end]).ok()?;
            let mut list = Vec::new();
            let mut rest = &section[end + 1..];
            while !rest.is_empty() {
                let size = usize::try_from(number(rest, 0)?).ok()?;
                let one = RawDocument::from_bytes(rest.get(..size)?).ok()?;
                list.push(Document::try_from(one).ok()?);
                rest = &rest[size..];
            }
            command.insert(name, list);
        }
        at += 1 + length;
    }
    Some(command)
}

/// A document as a message, in answer to another or to none.
///
/// # Panics
/// Where a name in the document holds a zero byte.
pub fn packed(document: &Document, to: i32) -> Vec<u8> {
    let body = RawDocumentBuf::try_from(document).expect("names without zero bytes");
    packed_raw(&body, to)
}

/// The same of an encoded document.
pub fn packed_raw(body: &RawDocument, to: i32) -> Vec<u8> {
    let length = HEADER + 4 + 1 + body.as_bytes().len();
    let mut message = Vec::with_capacity(length);
    for part in [length as i32, 1, to, OP_MSG, 0] {
        message.extend(part.to_le_bytes());
    }
    message.push(0);
    message.extend(body.as_bytes());
    message
}

/// A connection to the backing server.
#[derive(Debug)]
pub struct Backing {
    stream: TcpStream,
}

impl Backing {
    /// Connects to the server.
    ///
    /// # Errors
    /// Where nothing listens at the address.
    pub async fn connect(address: &str) -> io::Result<Backing> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Backing { stream })
    }

    /// Sends a message that gets no reply.
    ///
    /// # Errors
    /// Where the connection has ended.
    pub async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await
    }

    /// Sends a message, and gives the reply.
    ///
    /// # Errors
    /// Where the connection has ended.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.stream.write_all(request).await?;
        message(&mut self.stream)
            .await
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    /// Executes a command in a database, and gives the reply, which may be an error of the server.
    ///
    /// # Errors
    /// Where the connection has ended, and where the reply is no document.
    pub async fn run(&mut self, database: &str, mut command: Document) -> io::Result<Document> {
        command.insert("$db", database);
        let reply = self.exchange(&packed(&command, 0)).await?;
        document(&reply).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

/// The document of a reply.
pub fn document(message: &[u8]) -> Option<Document> {
    Document::try_from(RawDocument::from_bytes(body(message)?).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn a_command_with_a_list_in_a_section_of_its_own_is_whole() {
        let mut message = packed(&doc! { "insert": "c", "$db": "d" }, 7);
        let one = RawDocumentBuf::try_from(&doc! { "_id": 1 }).expect("a document");
        message.push(1);
        let length = 4 + "documents\0".len() + 2 * one.as_bytes().len();
        message.extend((length as i32).to_le_bytes());
        message.extend(b"documents\0");
        message.extend(one.as_bytes());
        message.extend(one.as_bytes());
        let all = (message.len() as i32).to_le_bytes();
        message[..4].copy_from_slice(&all);
        assert_eq!(number(&message, 8), Some(7));
        assert_eq!(
            whole(&message),
            Some(doc! { "insert": "c", "$db": "d", "documents": [{ "_id": 1 }, { "_id": 1 }] })
        );
    }

    #[test]
    fn a_message_that_is_cut_off_has_no_command() {
        let message = packed(&doc! { "ping": 1 }, 0);
        for end in 0..message.len() {
            assert_eq!(whole(&message[..end]), None, "{end}");
        }
    }
}
