//! Words of a text, for `like` (KTB-66) and for the word reading of `=` (KTB-69). The real index is not known in detail;
//! here a run of letters or digits of an alphabet is one word, and every kana or kanji is a word by itself, so that
//! `like "key"` does not find "keyword" while Japanese text is found without spaces.

/// True when the words of `needle` stand one after the other in `text`; case does not matter.
pub fn contains_words(text: &str, needle: &str) -> bool {
    let needle = words(needle);
    if needle.is_empty() {
        return false;
    }
    let text = words(text);
    text.windows(needle.len()).any(|window| window == needle)
}

fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        let single = is_single(letter);
        if letter.is_alphanumeric() && !single {
            word.push(letter);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if single {
            words.push(letter.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Kana, kanji and hangul: written without spaces, a word each.
fn is_single(letter: char) -> bool {
    matches!(letter, '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
        && letter.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ktb_66_words_not_substrings() {
        for (text, needle, found) in [
            ("gamma keyword", "key", false),
            ("gamma keyword", "KEYWORD", true),
            ("gamma keyword", "gamma keyword", true),
            ("東京都庁", "京都", true),
            ("monthly@2026-09-correction-1", "monthly@2026-09", true),
            ("monthly@2026-10", "monthly@2026-09", false),
            ("anything", "", false),
        ] {
            assert_eq!(contains_words(text, needle), found, "{text} / {needle}");
        }
    }
}
