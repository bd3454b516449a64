//! One file per record type: kintone fields to struct and back, nothing else (contract 30).
