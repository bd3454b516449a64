//! The one use of `multipart/form-data`: a file upload with a part named `file`.

/// An uploaded file.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// File name.
    pub name: String,
    /// Media type of the part.
    pub content_type: String,
    /// Content.
    pub content: &'a [u8],
}

/// The boundary of a `Content-Type` value.
pub fn boundary(content_type: &str) -> Option<&str> {
    let (media, parameters) = content_type.split_once(';')?;
    if !media.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("boundary")
            .then(|| value.trim().trim_matches('"'))
    })?;
    (!boundary.is_empty() && boundary.len() <= 70).then_some(boundary)
}

/// Finds the part named `file`.
pub fn file_part<'a>(body: &'a [u8], boundary: &str) -> Option<Part<'a>> {
    let mark = format!("--{boundary}").into_bytes();
    let mut rest = &body[find(body, &mark)? + mark.len()..];
    loop {
        rest = rest.strip_prefix(b"\r\n")?;
        let end = find(rest, &[b"\r\n", mark.as_slice()].concat())?;
        let part = &rest[..end];
        rest = &rest[end + 2 + mark.len()..];
        let head_end = find(part, b"\r\n\r\n")?;
        let head = std::str::from_utf8(&part[..head_end]).ok()?;
        let content = &part[head_end + 4..];
        if let Some(part) = file_of(head, content) {
            return Some(part);
        }
    }
}

fn file_of<'a>(head: &str, content: &'a [u8]) -> Option<Part<'a>> {
    let mut disposition = None;
    let mut content_type = "application/octet-stream".to_owned();
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-disposition") {
            disposition = Some(value);
        } else if name.eq_ignore_ascii_case("content-type") {
            value.trim().clone_into(&mut content_type);
        }
    }
    let disposition = disposition?;
    if parameter(disposition, "name")? != "file" {
        return None;
    }
    Some(Part {
        name: parameter(disposition, "filename")?,
        content_type,
        content,
    })
}

/// A quoted or bare parameter of `Content-Disposition`; browsers escape quotes as `%22`, others with a backslash.
fn parameter(disposition: &str, wanted: &str) -> Option<String> {
    let mut rest = disposition;
    loop {
        let at = rest.find(';')?;
        rest = rest[at + 1..].trim_start();
        let (name, value) = rest.split_once('=')?;
        if let Some(quoted) = value.strip_prefix('"') {
            let (text, after) = unquote(quoted)?;
            if name.trim().eq_ignore_ascii_case(wanted) {
                return Some(text.replace("%22", "\""));
            }
            rest = after;
        } else {
            if name.trim().eq_ignore_ascii_case(wanted) {
                return Some(value.split(';').next().unwrap_or(value).trim().to_owned());
            }
            rest = value;
        }
    }
}

fn unquote(text: &str) -> Option<(String, &str)> {
    let mut unquoted = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((unquoted, &text[at + 1..])),
            '\\' => unquoted.push(letters.next()?.1),
            _ => unquoted.push(letter),
        }
    }
    None
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_the_file_among_other_parts() {
        let body = b"--XX\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--XX\r\n\
            Content-Disposition: form-data; name=\"file\"; filename=\"a\\\"b.zip\"\r\nContent-Type: application/zip\r\n\r\n\
            PK\r\n--X\r\ndata\r\n--XX--\r\n";
        let part = file_part(body, "XX");
        assert_eq!(
            part,
            Some(Part {
                name: "a\"b.zip".to_owned(),
                content_type: "application/zip".to_owned(),
                content: b"PK\r\n--X\r\ndata"
            })
        );
        assert_eq!(boundary("multipart/form-data; boundary=\"XX\""), Some("XX"));
        assert_eq!(boundary("application/json; boundary=XX"), None);
    }

    #[test]
    fn a_form_without_a_file_has_none() {
        assert_eq!(
            file_part(
                b"--XX\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nv\r\n--XX--",
                "XX"
            ),
            None
        );
        assert_eq!(file_part(b"", "XX"), None);
    }

    proptest! {
        #[test]
        fn foreign_bodies_never_panic(body in "(--X|\r\n|Content-Disposition: form-data; name=\"file\"|;|filename=|\"|[a-z]){0,30}") {
            let _ = file_part(body.as_bytes(), "X");
        }
    }
}
