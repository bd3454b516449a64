//! Store-only zip with fixed bytes (BND-05) and its strict reader (BND-06).
//!
//! No compression, no time stamps, no Zip64: the archive is a list of names and bytes whose hash depends on nothing
//! else.

use std::collections::HashSet;

const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
const CENTRAL_SIGNATURE: u32 = 0x0201_4b50;
const END_SIGNATURE: u32 = 0x0605_4b50;

const LOCAL_LEN: usize = 30;
const CENTRAL_LEN: usize = 46;
const END_LEN: usize = 22;

const VERSION: u16 = 20;
/// Names are UTF-8; nothing else.
const FLAGS: u16 = 0x0800;

/// Why an archive cannot be written or read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZipError {
    /// More than 65535 entries, or more than 4 GiB of anything.
    TooLarge,
    /// The last 22 bytes are no end record.
    NoEnd,
    /// Several disks, a comment, or a directory that does not end where the end record begins.
    Directory,
    /// The directory or an entry reaches beyond its place.
    OutOfBounds,
    /// The directory contains something that is no entry.
    Signature,
    /// Compression, encryption or another feature that we never write.
    Unsupported,
    /// A name is not UTF-8.
    Name,
    /// A name stands twice.
    Duplicate(String),
    /// The two headers of an entry contradict each other.
    Headers(String),
    /// The bytes of an entry are not those its checksum was made of.
    Crc(String),
}

impl std::fmt::Display for ZipError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLarge => f.write_str("ZIP would need Zip64"),
            Self::NoEnd => f.write_str("ZIP end of central directory was not found"),
            Self::Directory => f.write_str("unsupported or malformed ZIP directory"),
            Self::OutOfBounds => f.write_str("ZIP central directory is out of bounds"),
            Self::Signature => f.write_str("ZIP central directory signature is invalid"),
            Self::Unsupported => f.write_str("only deterministic UTF-8 store-only ZIP is supported"),
            Self::Name => f.write_str("ZIP entry name is not valid UTF-8"),
            Self::Duplicate(name) => write!(f, "duplicate ZIP entry '{name}'"),
            Self::Headers(name) => write!(f, "ZIP entry '{name}' headers do not agree"),
            Self::Crc(name) => write!(f, "ZIP entry '{name}' CRC does not match"),
        }
    }
}

impl std::error::Error for ZipError {}

/// Writes the entries in the given order.
pub fn write(entries: &[(&str, &[u8])]) -> Result<Vec<u8>, ZipError> {
    let count = u16::try_from(entries.len()).map_err(|_| ZipError::TooLarge)?;
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in entries {
        let offset = length(out.len())?;
        let facts = Facts {
            crc: crc32(data),
            size: length(data.len())?,
            name_len: u16::try_from(name.len()).map_err(|_| ZipError::TooLarge)?,
        };
        put32(&mut out, LOCAL_SIGNATURE);
        facts.put(&mut out);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(data);

        put32(&mut directory, CENTRAL_SIGNATURE);
        put16(&mut directory, VERSION); // made by
        facts.put(&mut directory);
        // Comment length, disk number, internal and external attributes.
        directory.extend_from_slice(&[0; 10]);
        put32(&mut directory, offset);
        directory.extend_from_slice(name.as_bytes());
    }
    let directory_offset = length(out.len())?;
    let directory_size = length(directory.len())?;
    out.append(&mut directory);
    put32(&mut out, END_SIGNATURE);
    put32(&mut out, 0); // this disk, disk of the directory
    put16(&mut out, count);
    put16(&mut out, count);
    put32(&mut out, directory_size);
    put32(&mut out, directory_offset);
    put16(&mut out, 0); // comment
    length(out.len())?;
    Ok(out)
}

fn length(len: usize) -> Result<u32, ZipError> {
    u32::try_from(len).map_err(|_| ZipError::TooLarge)
}

/// What both headers of an entry say.
struct Facts {
    crc: u32,
    size: u32,
    name_len: u16,
}

impl Facts {
    /// From "version needed" to "extra length", the same in both headers.
    fn put(&self, out: &mut Vec<u8>) {
        put16(out, VERSION);
        put16(out, FLAGS);
        put16(out, 0); // method: stored
        put32(out, 0); // time and date
        put32(out, self.crc);
        put32(out, self.size);
        put32(out, self.size);
        put16(out, self.name_len);
        put16(out, 0); // extra
    }
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Names and bytes of all entries, in the order of the directory.
pub fn read(zip: &[u8]) -> Result<Vec<(String, &[u8])>, ZipError> {
    let end_at = zip.len().checked_sub(END_LEN).ok_or(ZipError::NoEnd)?;
    let end = &zip[end_at..];
    if u32_at(end, 0) != Some(END_SIGNATURE) {
        return Err(ZipError::NoEnd);
    }
    let number = |at| u16_at(end, at).ok_or(ZipError::NoEnd);
    let (count, size, offset) = (
        number(10)?,
        u32_at(end, 12).ok_or(ZipError::NoEnd)? as usize,
        u32_at(end, 16).ok_or(ZipError::NoEnd)? as usize,
    );
    let single_disk = number(4)? == 0 && number(6)? == 0 && number(8)? == count;
    let no_comment = number(20)? == 0;
    if !single_disk || !no_comment || offset.checked_add(size) != Some(end_at) {
        return Err(ZipError::Directory);
    }
    let mut directory = &zip[offset..end_at];
    let body = &zip[..offset];
    let mut names = HashSet::new();
    let mut entries = Vec::new();
    let mut total = 0usize;
    for _ in 0..count {
        let (entry, rest) = central(directory)?;
        directory = rest;
        if !names.insert(entry.name) {
            return Err(ZipError::Duplicate(entry.name.to_owned()));
        }
        // Entries that share bytes could describe far more than the archive holds.
        total = total.saturating_add(entry.size as usize);
        if total > body.len() {
            return Err(ZipError::OutOfBounds);
        }
        entries.push((entry.name.to_owned(), entry.data(body)?));
    }
    if directory.is_empty() {
        Ok(entries)
    } else {
        Err(ZipError::Directory)
    }
}

/// An entry as the directory describes it.
struct Entry<'z> {
    name: &'z str,
    crc: u32,
    size: u32,
    offset: u32,
}

/// Reads one entry of the directory; extra field and comment are skipped, time stamps and attributes ignored.
fn central(directory: &[u8]) -> Result<(Entry<'_>, &[u8]), ZipError> {
    let header = directory.get(..CENTRAL_LEN).ok_or(ZipError::OutOfBounds)?;
    let word = |at| u32_at(header, at).ok_or(ZipError::OutOfBounds);
    let half = |at| u16_at(header, at).ok_or(ZipError::OutOfBounds);
    if word(0)? != CENTRAL_SIGNATURE {
        return Err(ZipError::Signature);
    }
    let (crc, size, offset) = (word(16)?, word(24)?, word(42)?);
    if half(8)? != FLAGS || half(10)? != 0 || word(20)? != size {
        return Err(ZipError::Unsupported);
    }
    let name_end = CENTRAL_LEN + usize::from(half(28)?);
    let end = name_end + usize::from(half(30)?) + usize::from(half(32)?);
    let name = directory
        .get(CENTRAL_LEN..name_end)
        .ok_or(ZipError::OutOfBounds)?;
    let rest = directory.get(end..).ok_or(ZipError::OutOfBounds)?;
    let name = std::str::from_utf8(name).map_err(|_| ZipError::Name)?;
    let entry = Entry {
        name,
        crc,
        size,
        offset,
    };
    Ok((entry, rest))
}

impl Entry<'_> {
    /// The bytes, after the local header agreed in everything and the checksum matched.
    fn data<'z>(&self, body: &'z [u8]) -> Result<&'z [u8], ZipError> {
        let local = body.get(self.offset as usize..).ok_or(ZipError::OutOfBounds)?;
        let header = local.get(..LOCAL_LEN).ok_or(ZipError::OutOfBounds)?;
        let name_end = LOCAL_LEN + self.name.len();
        let agrees = u32_at(header, 0) == Some(LOCAL_SIGNATURE)
            && u16_at(header, 6) == Some(FLAGS)
            && u16_at(header, 8) == Some(0)
            && u32_at(header, 14) == Some(self.crc)
            && u32_at(header, 18) == Some(self.size)
            && u32_at(header, 22) == Some(self.size)
            && u16_at(header, 26).map(usize::from) == Some(self.name.len())
            && local.get(LOCAL_LEN..name_end) == Some(self.name.as_bytes());
        if !agrees {
            return Err(ZipError::Headers(self.name.to_owned()));
        }
        let start = name_end + usize::from(u16_at(header, 28).ok_or(ZipError::OutOfBounds)?);
        let data = local
            .get(start..)
            .and_then(|rest| rest.get(..self.size as usize))
            .ok_or(ZipError::OutOfBounds)?;
        if crc32(data) == self.crc {
            Ok(data)
        } else {
            Err(ZipError::Crc(self.name.to_owned()))
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let part = bytes.get(at..at + 2)?;
    Some(u16::from_le_bytes([part[0], part[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes([part[0], part[1], part[2], part[3]]))
}

/// CRC-32 (IEEE 802.3), the checksum of zip entries.
pub fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, byte| {
        CRC_TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8)
    })
}

const CRC_TABLE: [u32; 256] = crc_table();

const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0xedb8_8320 ^ (crc >> 1)
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksum_of_the_standard_test_text() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn entries_that_share_bytes_are_refused() {
        let mut zip = write(&[("a", &[7; 100]), ("b", &[7; 100])]).expect("small");
        let central_b = zip.len() - END_LEN - CENTRAL_LEN - 1;
        let name_a = LOCAL_LEN;
        // Both directory entries point to the first local header, under one name each.
        zip[central_b + 42..central_b + 46].fill(0);
        zip[name_a] = b'b';
        assert!(read(&zip).is_err());
    }

    #[test]
    fn too_many_entries_are_refused() {
        let entries = vec![("a", [].as_slice()); 65_536];
        assert_eq!(write(&entries), Err(ZipError::TooLarge));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            entries in prop::collection::btree_map("\\PC{0,12}", prop::collection::vec(any::<u8>(), 0..50), 0..8),
        ) {
            let list: Vec<(&str, &[u8])> = entries.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect();
            let zip = write(&list).expect("small");
            let read = read(&zip).expect("own archive");
            prop_assert_eq!(read.iter().map(|(n, d)| (n.as_str(), *d)).collect::<Vec<_>>(), list);
        }

        #[test]
        fn foreign_bytes_never_panic(
            mut zip in prop::collection::vec(any::<u8>(), 0..200),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let _ = read(&zip);
            zip = write(&[("a", b"one"), ("bb", b"")]).expect("small");
            for (at, value) in changes {
                let at = at.index(zip.len());
                zip[at] = value;
            }
            if let Ok(entries) = read(&zip) {
                prop_assert_eq!(entries.len(), 2);
            }
        }
    }
}
