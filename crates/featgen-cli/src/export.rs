//! `featgen export`: a model as something that runs without featgen.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use featgen::files::WholeFile;
use featgen::{Error, Model};
use featgen_export::{Options, Target};

use crate::args::ExportArgs;
use crate::{interrupt, predict};

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<u8> {
    let file = args.output.as_deref().filter(|path| *path != Path::new("-"));
    crate::check_outputs(&[("the model", &*args.model)], file.map(|file| ("the export", file)).as_slice())?;
    let target = Target::find(&args.to)?;
    if file.is_none() && !target.is_text && io::stdout().is_terminal() {
        let reason = format!("{} is not text: give it a file, or send it elsewhere", target.name);
        return Err(Error::parameter("output", reason).into());
    }
    let model = predict::at_features(Model::load(&args.model)?, &args.model, args.features, args.quiet)?;
    let written = featgen_export::export(&model, target, &Options { table: args.table.clone() })?;
    match file {
        Some(path) => {
            let mut file = WholeFile::create(path)?;
            file.unfinished().map(interrupt::remove_at_end);
            file.write_all(&written).map_err(|e| file.error(e))?;
            file.finish()?;
        }
        None => crate::print(|out| out.write_all(&written))?,
    }
    if model.offset && !args.quiet {
        crate::note(format_args!(
            "note: the model was trained with --offset, which is to be added to the decision values that are computed"
        ));
    }
    Ok(crate::SUCCESS)
}
