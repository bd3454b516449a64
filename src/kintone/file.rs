//! Upload and download of attachments (KTB-150, ADJ-11).

use std::fmt::Write as _;

use super::client::{Client, decode};
use super::config::App;
use super::error::{Error, ErrorKind};
use super::limit;
use super::request::Request;
use super::retry::Repeat;
use crate::language::{Text, text};

#[derive(serde::Deserialize)]
struct UploadAnswer {
    #[serde(rename = "fileKey")]
    file_key: String,
}

impl Client {
    /// Uploads a file and gives its key, which attaches once and cannot be used for download (KTB-150, KTB-151).
    ///
    /// An upload changes no record and vanishes after three days when it is not attached, so it is repeated like a read.
    pub fn upload(&self, app: &App, name: &str, content_type: &str, bytes: &[u8]) -> Result<String, Error> {
        let mut random = [0; 16];
        let seeded = getrandom::getrandom(&mut random);
        let boundary = boundary(&random);
        let head = part_head(&boundary, name, content_type);
        let tail = format!("\r\n--{boundary}--\r\n");
        let pieces = vec![head.as_bytes(), bytes, tail.as_bytes()];
        let request = Request::upload(app, format!("multipart/form-data; boundary={boundary}"), pieces)
            .repeat(Repeat::Idempotent);
        let refuse = |note: Text| Err(Error::local(&request.label, ErrorKind::Request, note));
        if seeded.is_err() {
            return refuse(text(
                "the system gives no random bytes for the multipart boundary",
                "multipart の境界に使う乱数を取得できません",
            ));
        }
        if bytes.len() > limit::UPLOAD_BYTES {
            return refuse(text(
                "the file is larger than 1 GiB",
                "ファイルが 1 GiB を超えています",
            ));
        }
        self.exchange(&request, |answer| {
            let UploadAnswer { file_key } = decode(&answer.body)?;
            Some(file_key)
                .filter(|key| !key.is_empty())
                .ok_or(text("the body holds no fileKey", "本文に fileKey がありません"))
        })
    }

    /// Downloads a file by the key that a record read shows. More than `max_bytes` is an error of kind
    /// [`ErrorKind::TooLarge`].
    pub fn download(&self, app: &App, file_key: &str, max_bytes: u64) -> Result<Vec<u8>, Error> {
        self.send(&Request::download(app, file_key, max_bytes))
            .map(|answer| answer.body)
    }
}

/// 128 random bits: no file holds it by chance.
fn boundary(random: &[u8; 16]) -> String {
    random.iter().fold("----part-".to_owned(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Head of the one part. In the file name quote, CR and LF are percent-encoded, as browsers do; other control characters
/// are dropped. The content type falls back to octets when a header could not carry it.
fn part_head(boundary: &str, name: &str, content_type: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '"' => safe.push_str("%22"),
            '\r' => safe.push_str("%0D"),
            '\n' => safe.push_str("%0A"),
            c if c.is_control() => {}
            c => safe.push(c),
        }
    }
    let plain = content_type.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) && !content_type.is_empty();
    let content_type = if plain {
        content_type
    } else {
        "application/octet-stream"
    };
    format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{safe}\"\r\n\
         Content-Type: {content_type}\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_part() {
        assert_eq!(
            part_head("B", "a\"b\r\n日.zip", "application/zip"),
            "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b%0D%0A日.zip\"\r\n\
             Content-Type: application/zip\r\n\r\n"
        );
        assert_eq!(boundary(&[0xab; 16]), format!("----part-{}", "ab".repeat(16)));
    }

    proptest! {
        #[test]
        fn no_name_or_type_adds_a_header(name in any::<String>(), kind in any::<String>()) {
            let head = part_head("B", &name, &kind);
            prop_assert_eq!(head.matches("\r\n").count(), 4);
            let disposition = head.lines().nth(1).unwrap_or_default();
            prop_assert_eq!(disposition.matches('"').count(), 4);
            prop_assert!(!head.replace("\r\n", "").chars().any(char::is_control));
        }
    }
}
