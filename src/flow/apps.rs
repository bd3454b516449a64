//! What the SQL engine needs of kintone, as a trait: form, pages of records, writes.
