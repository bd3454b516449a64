//! Network definitions: strict YAML, schema, DAG, business key (contract 10 A-B). Pure but for file reading in one place.
