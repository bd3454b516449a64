//! Flags and operands that several commands share.

use super::{Flag, Operand};
use crate::flownet::cli::language::{Text, text};

/// An option that may be left out.
pub(super) const fn value(name: &'static str, placeholder: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: Some(placeholder),
        required: false,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

/// An option that must be given.
pub(super) const fn required(name: &'static str, placeholder: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: Some(placeholder),
        required: true,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

/// A switch.
pub(super) const fn switch(name: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: None,
        required: false,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

pub(super) const BUSINESS_KEY: Flag = Flag {
    empty_allowed: true,
    ..value(
        "--business-key",
        "<key>",
        text("the business key of the Run", "Run の業務キー"),
    )
};
pub(super) const SCHEDULED_FOR: Flag = Flag {
    empty_allowed: true,
    ..value(
        "--scheduled-for",
        "<timestamp>",
        text(
            "the planned instant, ISO 8601 with offset; the business key is derived from it",
            "予定時刻 (オフセット付き ISO 8601)。業務キーをここから導く",
        ),
    )
};
pub(super) const RUN_ID: Text = text("the Run", "対象の Run");
pub(super) const REASON_FILE: Flag = required(
    "--reason-file",
    "<path>",
    text("file with the reason, UTF-8 text", "理由を書いたファイル (UTF-8)"),
);
pub(super) const EVIDENCE_REF: Flag = required(
    "--evidence-ref",
    "<ref>",
    text(
        "incident, ticket or record that supports the decision",
        "判断の根拠 (障害番号、チケットなど)",
    ),
);
pub(super) const STOP_CONFIRMED_BY: Flag = required(
    "--stop-confirmed-by",
    "<subject>",
    text("who confirmed that nothing runs any more", "停止を確認した人"),
);
pub(super) const STOP_EVIDENCE_REF: Flag = required(
    "--stop-evidence-ref",
    "<ref>",
    text("where that confirmation is recorded", "停止確認の記録の場所"),
);
pub(super) const PROFILE: Text = text("the kSQL-Flow profile", "kSQL-Flow のプロファイル");
pub(super) const JSON: Flag = switch(
    "--json",
    text(
        "print the result as one JSON value on standard output",
        "結果を 1 つの JSON として標準出力へ書く",
    ),
);

pub(super) const NO_EXTRA: &str = "unexpected argument '{}'";

pub(super) const NETWORK: Operand = Operand {
    name: "<network>",
    missing: "",
    extra: NO_EXTRA,
    choices: &[],
    optional: false,
    file: true,
};
