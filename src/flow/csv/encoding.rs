//! The two encodings of CSV files. Shift_JIS means Windows code page 932, as spreadsheets write it.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::{DecoderResult, EncoderResult, SHIFT_JIS};

/// The encoding of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Encoding {
    /// UTF-8; a byte order mark is dropped on reading and never written.
    #[default]
    Utf8,
    /// Shift_JIS (CP932).
    ShiftJis,
}

/// Where a text and an encoding do not fit each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EncodingError {
    /// The bytes are not of this encoding.
    Malformed {
        /// The encoding that was expected.
        encoding: Encoding,
        /// Byte offset of the first offending sequence.
        offset: usize,
    },
    /// The character does not survive Shift_JIS unchanged.
    Unmappable {
        /// The character.
        character: char,
        /// Offset in UTF-16 units from the start of the text.
        offset: usize,
        /// 1-based line of the text.
        line: usize,
    },
}

impl Encoding {
    /// Reads `utf8` or `sjis`, any case (RNR-132).
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Utf8, Self::ShiftJis]
            .into_iter()
            .find(|encoding| encoding.lower_name().eq_ignore_ascii_case(name))
    }

    /// `utf8` or `sjis`: flags and output receipts.
    pub fn lower_name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::ShiftJis => "sjis",
        }
    }

    /// `UTF8` or `SJIS`: input receipts.
    pub fn upper_name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF8",
            Self::ShiftJis => "SJIS",
        }
    }

    /// Decodes a whole file.
    ///
    /// # Errors
    /// [`EncodingError::Malformed`] at the first byte that is not of this encoding.
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, EncodingError> {
        match self {
            Self::Utf8 => {
                let text = std::str::from_utf8(bytes).map_err(|e| EncodingError::Malformed {
                    encoding: self,
                    offset: e.valid_up_to(),
                })?;
                Ok(Cow::Borrowed(text.strip_prefix('\u{FEFF}').unwrap_or(text)))
            }
            Self::ShiftJis => SHIFT_JIS
                .decode_without_bom_handling_and_without_replacement(bytes)
                .ok_or_else(|| EncodingError::Malformed {
                    encoding: self,
                    offset: malformed_offset(bytes),
                }),
        }
    }

    /// Encodes a whole file; what comes out decodes to exactly what went in (RNR-133).
    ///
    /// # Errors
    /// [`EncodingError::Unmappable`] at the first character that does not survive.
    pub fn encode(self, text: String) -> Result<Vec<u8>, EncodingError> {
        match self {
            Self::Utf8 => Ok(text.into_bytes()),
            Self::ShiftJis => encode_shift_jis(&text),
        }
    }
}

fn encode_shift_jis(text: &str) -> Result<Vec<u8>, EncodingError> {
    let mut encoder = SHIFT_JIS.new_encoder();
    let room = encoder.max_buffer_length_from_utf8_without_replacement(text.len());
    let mut bytes = Vec::with_capacity(room.unwrap_or(text.len()));
    let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(text, &mut bytes, true);
    let refused = match result {
        EncoderResult::Unmappable(character) => Some((read - character.len_utf8(), character)),
        EncoderResult::InputEmpty | EncoderResult::OutputFull => None,
    };
    let encoded = &text[..refused.map_or(text.len(), |(at, _)| at)];
    // The encoder folds some characters into look-alikes (the yen sign into the backslash): look again.
    let again = SHIFT_JIS
        .decode_without_bom_handling_and_without_replacement(&bytes)
        .unwrap_or_default();
    let changed = || {
        let back = again.chars().map(Some).chain(std::iter::repeat(None));
        let mut pairs = encoded.char_indices().zip(back);
        pairs.find(|((_, c), back)| Some(*c) != *back).map(|(at, _)| at)
    };
    match if again == encoded {
        refused
    } else {
        changed().or(refused)
    } {
        Some((at, character)) => Err(unmappable(text, at, character)),
        None => Ok(bytes),
    }
}

fn unmappable(text: &str, at: usize, character: char) -> EncodingError {
    let before = &text[..at];
    EncodingError::Unmappable {
        character,
        offset: before.chars().map(char::len_utf16).sum(),
        line: before.matches('\n').count() + 1,
    }
}

fn malformed_offset(bytes: &[u8]) -> usize {
    let mut decoder = SHIFT_JIS.new_decoder_without_bom_handling();
    let room = decoder
        .max_utf8_buffer_length_without_replacement(bytes.len())
        .unwrap_or(bytes.len() * 3);
    let mut text = String::with_capacity(room);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::Malformed(bad, after), read) => read - usize::from(bad) - usize::from(after),
        (_, read) => read,
    }
}

impl fmt::Display for EncodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { encoding, offset } => {
                write!(f, "byte {offset} is not {}", encoding.upper_name())
            }
            Self::Unmappable {
                character,
                offset,
                line,
            } => write!(
                f,
                "U+{:04X} at offset {offset} (line {line}) cannot be written in Shift_JIS; use utf8 or replace it",
                u32::from(*character)
            ),
        }
    }
}

impl std::error::Error for EncodingError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sjis(text: &str) -> Result<Vec<u8>, EncodingError> {
        Encoding::ShiftJis.encode(text.to_owned())
    }

    #[test]
    fn shift_jis_round_trips_or_is_refused() {
        for text in ["", "abc\r\n", "日本語、ｶﾅ①㈱髙﨑～", "\\~"] {
            let bytes = sjis(text).unwrap();
            assert_eq!(Encoding::ShiftJis.decode(&bytes).unwrap(), text);
        }
        assert_eq!(sjis("日本").unwrap(), [0x93, 0xFA, 0x96, 0x7B]);
    }

    #[test]
    fn the_first_character_that_does_not_survive_is_named() {
        // No code at all, an astral character, and two that the encoder would fold silently.
        for (text, character, offset, line) in [
            ("ab\né", 'é', 3, 2),
            ("𠮟", '𠮟', 0, 1),
            ("あ😀é", '😀', 1, 1),
            ("1¥", '¥', 1, 1),
            ("a‾", '‾', 1, 1),
            ("5−3", '−', 1, 1),
            ("¥é", '¥', 0, 1),
        ] {
            assert_eq!(
                sjis(text),
                Err(EncodingError::Unmappable {
                    character,
                    offset,
                    line
                }),
                "{text}"
            );
        }
        assert_eq!(
            sjis("😀é").unwrap_err().to_string(),
            "U+1F600 at offset 0 (line 1) cannot be written in Shift_JIS; use utf8 or replace it"
        );
    }

    #[test]
    fn malformed_bytes_are_located() {
        for (encoding, bytes, offset) in [
            (Encoding::Utf8, &b"ab\xFFc"[..], 2),
            (Encoding::Utf8, &[0x93, 0xFA], 0),
            (Encoding::ShiftJis, &[b'a', 0x93, 0xFA, 0x93], 3),
            (Encoding::ShiftJis, &[b'a', 0xFF, b'b'], 1),
            (Encoding::ShiftJis, &[0x81, 0x20, b'b'], 0),
        ] {
            assert_eq!(
                encoding.decode(bytes),
                Err(EncodingError::Malformed { encoding, offset }),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_byte_order_mark_is_dropped() {
        assert_eq!(Encoding::Utf8.decode(b"\xEF\xBB\xBFa").unwrap(), "a");
    }

    #[test]
    fn names() {
        assert_eq!(Encoding::parse("SJIS"), Some(Encoding::ShiftJis));
        assert_eq!(Encoding::parse("utf8"), Some(Encoding::Utf8));
        assert_eq!(Encoding::parse("utf-16"), None);
    }
}
