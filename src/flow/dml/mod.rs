//! Writing: UPSERT, MERGE, INSERT, UPDATE, DELETE in chunks of 100 (LNG-140..152).
