//! Find products of features among all there are, without writing any of them down.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use featgen::space::{Inputs, SpaceSpec};
use featgen::{Machine, synth};

fn main() -> featgen::Result<()> {
    let made = synth::Products { rows: 3000, features: 2000, relevant: 3, ..Default::default() };
    let (train, truth) = (made.train()?, made.truth()?);

    // A space by its name, as the command's options describe it; `ProductSpace` is the same in Rust's types.
    let spec = SpaceSpec::named("products")?.with("degree", "2")?.with("min-support", "20")?;
    let built = spec.build(Inputs::new(&train), None)?;
    println!("{} products to choose from", built.space.size());

    let model = Machine::new().features(3).fit(&*built.space, &train.labels)?;
    for term in model.selected() {
        println!("  {:<10}  weight {:+.3}", term.name, term.weight.one());
    }
    for (factors, weight) in &truth.products {
        let names: Vec<_> = factors.iter().map(|id| (id + 1).to_string()).collect();
        println!("planted: {}  weight {weight:+.3}", names.join("*"));
    }
    Ok(())
}
