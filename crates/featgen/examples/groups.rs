//! Select groups of features as a whole: here, ten neighbours each.
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use featgen::space::{GroupWeight, Groups, Inputs};
use featgen::{GroupSpace, Machine, synth};

fn main() -> featgen::Result<()> {
    let made =
        synth::Grouped { rows: 1000, features: 3000, group_size: 10, relevant: 4, ..Default::default() };
    let (train, truth) = (made.train()?, made.truth()?);

    // `space::read_groups` reads them from a file instead. Groups may overlap.
    let inputs = Inputs::new(&train);
    let mut groups = Groups::over(&inputs)?;
    for g in 0..300 {
        groups.push(&inputs, Some(&format!("block {g}")), 10 * g..10 * (g + 1))?;
    }
    let space = GroupSpace::new(inputs, groups, GroupWeight::None)?;

    // A number of features is a number of groups here.
    let model = Machine::new().features(4).fit(&space, &train.labels)?;
    for selected in model.selected_groups() {
        println!("{:<9}  norm {:.3}, {} features", selected.group.name, selected.norm, selected.terms.len());
    }
    println!("the classes were made by the blocks {:?}", truth.groups());
    Ok(())
}
