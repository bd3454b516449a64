//! The one value domain: texts, exact decimal comparison, binary64 arithmetic, number printing (LNG-40..47).
