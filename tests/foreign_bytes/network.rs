//! A network file: loading ends with a network or with problems, and an order holds every node once, after its
//! dependencies.

use ksql_flownet::flownet::definition::{MAX_NODES, load, load_stored};

pub fn check(bytes: &[u8]) {
    // What an older version stored is read more leniently, and must not fall over either.
    let _ = load_stored(bytes);
    match load(bytes).into_valid() {
        Err(problems) => assert!(!problems.is_empty(), "refused without a reason"),
        Ok(network) => {
            assert!(network.nodes.len() <= MAX_NODES);
            let order = network.order();
            let mut place = vec![None; network.nodes.len()];
            for (at, index) in order.iter().enumerate() {
                assert!(place[*index].replace(at).is_none(), "a node twice in the order");
            }
            for (index, node) in network.nodes.iter().enumerate() {
                assert!(place[index].is_some(), "a node is missing in the order");
                for before in &node.depends_on {
                    let other = network.nodes.iter().position(|n| n.id == *before).expect("known");
                    assert!(place[other] < place[index], "a node before its dependency");
                }
                let behind = network.descendants(&node.id).expect("a node of this network");
                assert!(behind.contains(&node.id));
            }
        }
    }
}
