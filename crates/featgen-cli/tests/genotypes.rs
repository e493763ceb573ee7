//! Genotypes of PLINK: what is learned from them is what would be learned from the same numbers, and mistakes are told.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::featgen;
use serde_json::Value;

/// What the command prints; it must succeed.
fn run(folder: &Path, arguments: &str) -> (String, String) {
    let output = featgen(folder).args(arguments.split_whitespace()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn json(folder: &Path, arguments: &str) -> Value {
    serde_json::from_str(&run(folder, &format!("{arguments} --json -q")).0).unwrap()
}

/// What the command says as it refuses something.
fn refused(folder: &Path, arguments: &str, code: i32) -> String {
    let output = featgen(folder).args(arguments.split_whitespace()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    said
}

/// The selected features with their weights, by name.
fn selected(report: &Value) -> BTreeMap<String, f64> {
    let entry =
        |term: &Value| (term["feature"].as_str().unwrap().to_owned(), term["weight"].as_f64().unwrap());
    report["selected"].as_array().unwrap().iter().map(entry).collect()
}

/// The relevant variants.
fn truth(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join("toy.truth.txt")).unwrap();
    let names = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// Lines of fields.
fn table(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn write(folder: &Path, name: &str, lines: &[Vec<String>]) {
    let text: String = lines.iter().map(|line| line.join(" ") + "\n").collect();
    fs::write(folder.join(name), text).unwrap();
}

/// The copies of the first allele of every variant, by people; `None` if it is missing. Written anew, to compare with.
fn decoded(folder: &Path, name: &str, people: usize) -> Vec<Vec<Option<f64>>> {
    let bytes = fs::read(folder.join(name)).unwrap();
    assert_eq!(bytes[..3], [0x6c, 0x1b, 1]);
    let code = |column: &[u8], i: usize| (column[i / 4] >> (2 * (i % 4))) & 3;
    let copies = |code: u8| [Some(2.0), None, Some(1.0), Some(0.0)][usize::from(code)];
    let column = |column: &[u8]| (0..people).map(|i| copies(code(column, i))).collect();
    bytes[3..].chunks(people.div_ceil(4)).map(column).collect()
}

/// The same data as a table, where the mean stands for what is missing.
fn as_csv(folder: &Path, people: &[usize], classes: &[String], covariates: &[Vec<String>], all: usize) {
    let names: Vec<String> = table(folder, "toy.train.bim").into_iter().map(|line| line[1].clone()).collect();
    let columns = decoded(folder, "toy.train.bed", all);
    let means: Vec<f64> = columns
        .iter()
        .map(|column| {
            let known: Vec<f64> = people.iter().filter_map(|&i| column[i]).collect();
            known.iter().sum::<f64>() / known.len() as f64
        })
        .collect();
    let mut text = format!("y,population,age,{}\n", names.join(","));
    for &i in people {
        let values: Vec<String> =
            columns.iter().zip(&means).map(|(column, mean)| column[i].unwrap_or(*mean).to_string()).collect();
        text += &format!("{},{},{}\n", classes[i], covariates[i][2..].join(","), values.join(","));
    }
    fs::write(folder.join("toy.csv"), text).unwrap();
}

/// People in another order, some without a phenotype and some without covariates: the same as a table of the others.
#[test]
fn a_bed_is_as_good_as_the_table_of_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        "synth bed -o toy --rows 203 --test-rows 0 --features 150 --relevant 3 --missing 0.03 --confounding 0.5",
    );
    let fam = table(folder, "toy.train.fam");
    let classes: Vec<String> = fam.iter().map(|line| line[5].clone()).collect();
    let mut covariates = table(folder, "toy.covar.txt");
    let header = covariates.remove(0);
    let mut pheno: Vec<Vec<String>> =
        fam.iter().map(|line| vec![line[0].clone(), line[1].clone(), "7".into(), line[5].clone()]).collect();
    for i in (0..203).step_by(20) {
        pheno[i][3] = ["-9", "NA", "0"][i % 3].into();
    }
    let kept: Vec<usize> = (0..203).filter(|i| i % 20 != 0 && i % 50 != 3).collect();
    as_csv(folder, &kept, &classes, &covariates, 203);

    covariates.retain(|line| (line[0][1..].parse::<usize>().unwrap() - 1) % 50 != 3);
    covariates.reverse();
    covariates.insert(0, header);
    write(folder, "covar.txt", &covariates);
    pheno.rotate_left(77);
    pheno.insert(0, ["FID", "IID", "seven", "sick"].map(str::to_owned).to_vec());
    write(folder, "pheno.txt", &pheno);

    let bed = "train toy.train.bed --pheno pheno.txt --label sick --covar covar.txt";
    for options in
        ["--features 5", "--features 4 --scale std --loss logistic", "--select paper --features 6 -C 0.1"]
    {
        let ours = json(folder, &format!("{bed} {options} -o bed.json"));
        let table =
            json(folder, &format!("train toy.csv --label y --keep population,age {options} -o csv.json"));
        assert_eq!(ours["n"], kept.len());
        assert_eq!(ours["classes"], table["classes"]);
        let (a, b) = (selected(&ours), selected(&table));
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{options}");
        a.values().zip(b.values()).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} {b}"));
        let [a, b] = [&ours, &table].map(|report| report["objective"].as_f64().unwrap());
        assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
        // Predictions for the same people, of whom nobody may be left out.
        let ours =
            run(folder, "predict bed.json toy.train.bed --covar toy.covar.txt --output-kind decision").0;
        let table = run(folder, "predict csv.json toy.csv --output-kind decision -q").0;
        let ours: Vec<f64> = ours.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(ours.len(), 203);
        for (&i, other) in kept.iter().zip(table.lines()) {
            assert!((ours[i] - other.parse::<f64>().unwrap()).abs() < 1e-4, "{i}: {} {other}", ours[i]);
        }
    }
    let said = run(folder, &format!("{bed} --features 2")).1;
    let left = "11 whose phenotype is not known, 4 of whom not all covariates are known";
    assert!(said.contains(&format!("toy.train.bed: 15 of 203 people left out: {left}")), "{said}");
    // The model does not depend on threads, and goes on from a checkpoint.
    for threads in [1, 3] {
        run(
            folder,
            &format!("{bed} --features 5 --threads {threads} -o {threads}.json --checkpoint run.ckpt"),
        );
    }
    assert_eq!(fs::read(folder.join("1.json")).unwrap(), fs::read(folder.join("3.json")).unwrap());
}

#[test]
fn a_confounder_that_is_kept_does_not_mislead() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        "synth bed -o toy --rows 800 --test-rows 0 --features 3000 --relevant 6 --heritability 0.6 --confounding 2 --quantitative",
    );
    let found = |options: &str| {
        let chosen =
            selected(&json(folder, &format!("train toy.train.bed --loss squared --features 6 {options}")));
        truth(folder).iter().filter(|name| chosen.contains_key(*name)).count()
    };
    assert_eq!(found("--covar toy.covar.txt"), 6);
    assert!(found("") <= 2, "{}", found(""));
}

/// Alleles in the other order are read in the order of training, others are refused, and missing genotypes have the mean of
/// training.
#[test]
fn variants_mean_what_they_meant_in_training() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        "synth bed -o toy --rows 301 --test-rows 90 --features 400 --relevant 4 --missing 0.05 --quantitative",
    );
    run(folder, "train toy.train.bed --loss squared --features 6 -o model.json");
    let (predicted, said) = run(folder, "predict model.json toy.test.bed");
    assert!(said.contains("R²") || said.contains("R2"), "{said}");

    // The model by hand: the sum of weights times copies, or times the mean of training.
    let model: Value = serde_json::from_slice(&fs::read(folder.join("model.json")).unwrap()).unwrap();
    let names: Vec<String> = table(folder, "toy.test.bim").into_iter().map(|line| line[1].clone()).collect();
    let columns = decoded(folder, "toy.test.bed", 90);
    let mut expected = vec![-model["bias"].as_f64().unwrap(); 90];
    for input in model["inputs"].as_array().unwrap() {
        let term =
            model["terms"].as_array().unwrap().iter().find(|term| term["name"] == input["name"]).unwrap();
        let (weight, mean) = (term["weight"].as_f64().unwrap(), input["genotype"]["mean"].as_f64().unwrap());
        let column = &columns[names.iter().position(|name| input["name"] == name.as_str()).unwrap()];
        expected.iter_mut().zip(column).for_each(|(sum, x)| *sum += weight * x.unwrap_or(mean));
    }
    for (expected, found) in expected.iter().zip(predicted.lines()) {
        assert!((expected - found.parse::<f64>().unwrap()).abs() < 1e-9, "{expected} {found}");
    }

    // All alleles exchanged: 00 and 11 change places.
    let exchange =
        |byte: u8| (0..4).fold(0, |new, k| new | [3, 1, 2, 0][usize::from(byte >> (2 * k)) & 3] << (2 * k));
    let bytes = fs::read(folder.join("toy.test.bed")).unwrap();
    let turned: Vec<u8> =
        bytes[..3].iter().copied().chain(bytes[3..].iter().map(|byte| exchange(*byte))).collect();
    fs::write(folder.join("turned.bed"), turned).unwrap();
    fs::copy(folder.join("toy.test.fam"), folder.join("turned.fam")).unwrap();
    let mut bim = table(folder, "toy.test.bim");
    bim.iter_mut().for_each(|line| line.swap(4, 5));
    write(folder, "turned.bim", &bim);
    assert_eq!(run(folder, "predict model.json turned.bed -q").0, predicted);
    let scores = |test: &str| {
        json(folder, &format!("train toy.train.bed --loss squared --features 6 --test {test}"))["test"]
            .clone()
    };
    assert_eq!(scores("toy.test.bed"), scores("turned.bed"));

    let used = model["inputs"][0]["name"].as_str().unwrap();
    let line = bim.iter().position(|line| line[1] == used).unwrap();
    bim[line][4] = "N".into();
    write(folder, "turned.bim", &bim);
    let said = refused(folder, "predict model.json turned.bed", 1);
    assert!(said.starts_with(&format!("turned.bim:{}:1: the alleles are `N` and ", line + 1)), "{said}");
    bim[line][1] = "other".into();
    write(folder, "turned.bim", &bim);
    let said = run(folder, "predict model.json turned.bed").1;
    assert!(
        said.contains(&format!("lacks 1 of the 6 features that the model looks at, counted as 0: {used}")),
        "{said}"
    );
}

#[test]
fn variants_that_lie_together_are_groups() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(
        folder,
        "synth bed -o toy --rows 400 --test-rows 0 --features 2000 --relevant 2 --quantitative --linkage 0.9",
    );
    let bim = table(folder, "toy.train.bim");
    let window = |name: &String| {
        let line = bim.iter().find(|line| line[1] == *name).unwrap();
        let begin = line[3].parse::<u64>().unwrap() / 100_000 * 100_000;
        (line[0].clone(), begin, format!("{}:{begin}-{}", line[0], begin + 100_000))
    };
    let train = "train toy.train.bed --loss squared --features 2";
    let groups = |report: &Value| {
        let terms = report["selected"].as_array().unwrap();
        terms
            .iter()
            .map(|term| term["group"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let report = json(folder, &format!("{train} --windows 100kb -o model.json"));
    let expected = truth(folder).iter().map(|name| window(name).2).collect();
    assert_eq!(groups(&report), expected);
    run(folder, "predict model.json toy.train.bed -q");

    let mut genes: String = truth(folder)
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let (chromosome, begin, _) = window(name);
            format!("gene{k} chr{chromosome} {begin} {}\n", begin + 60_000)
        })
        .collect();
    genes += "# a comment\nempty 1 1 2\nother 3 1 300000\n";
    fs::write(folder.join("genes.txt"), &genes).unwrap();
    let said = run(folder, &format!("{train} --genes genes.txt -o genes.json")).1;
    assert!(said.contains("1 gene left out, without a variant in toy.train.bed"), "{said}");
    let model: Value = serde_json::from_slice(&fs::read(folder.join("genes.json")).unwrap()).unwrap();
    assert_eq!(model["parameters"]["groups"]["genes"], "genes.txt");

    fs::write(folder.join("genes.txt"), "a 1 5 3\n").unwrap();
    assert!(
        refused(folder, &format!("{train} --genes genes.txt"), 1)
            .starts_with("genes.txt:1:7: a gene cannot end")
    );
    fs::write(folder.join("genes.txt"), "a 1 5\n").unwrap();
    assert!(
        refused(folder, &format!("{train} --genes genes.txt"), 1)
            .starts_with("genes.txt:1:6: 3 fields, where name")
    );
    assert!(refused(folder, &format!("{train} --windows 10x"), 2).contains("no number of bases"));
    fs::write(folder.join("data.svm"), common::two_classes(10)).unwrap();
    assert!(
        refused(folder, "train data.svm --windows 1kb", 2)
            .contains("only the variants of a .bed have positions")
    );
    assert!(refused(folder, "train data.svm --covar genes.txt", 2).contains("only the people of a .bed"));
}

/// Four people and three variants.
fn small(folder: &Path) {
    let files: [(&str, &[u8]); 5] = [
        ("x.bed", &[0x6c, 0x1b, 1, 0b1110_0011, 0b0011_1011, 0b1100_0011]),
        ("x.bim", b"1 a 0 100 A G\n1 b 0 200 C T\n2 c 0 100 A T\n"),
        ("x.fam", b"f i 0 0 1 1\nf j 0 0 2 2\ng i 0 0 1 2\ng j 0 0 1 1\n"),
        ("pheno", b"FID IID y z\ng j 1 3\nf i 1 4\nf j 2 5\ng i 2 x\n"),
        ("covar", b"FID IID age\ng j 1\nf i 1\nf j 2\ng i 5\n"),
    ];
    files.into_iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
}

#[test]
#[rustfmt::skip] // one case, one line
fn mistakes_are_told_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small(folder);
    run(folder, "train x.bed --pheno pheno --label y --covar covar");
    let (bed, plain, pheno) = ("train x.bed", "train x.bed --features 1", "train x.bed --pheno pheno --label y --covar covar");
    let cases: &[(&str, &[u8], &str, &str)] = &[
        ("x.bed", b"\x6c\x1b\x01\x00\x00", bed, "x.bed: 5 bytes, where 4 people in the .fam and 3 variants in the .bim take 6"),
        ("x.bed", b"\x6c\x1b\x01\x00\x00\x00\x00", bed, "x.bed: 7 bytes, where 4 people"),
        ("x.bed", b"\x6c\x1b\x00\x00\x00\x00", bed, "x.bed: genotypes by people (individual-major)"),
        ("x.bed", b"\x6c\x1b\x07\x00\x00\x00", bed, "x.bed: 0x07 where a .bed says"),
        ("x.bed", b"\x6c\x1b", bed, "x.bed: nothing where a .bed says"),
        ("x.bed", b"\x6c\x1c\x01\x00\x00\x00", bed, "x.bed: not genotypes of PLINK: such a .bed begins with the bytes 6c 1b 01"),
        ("x.bed", b"chr1 100 200\n", bed, "x.bed: not genotypes of PLINK"),
        ("x.bed", b"", bed, "x.bed: not genotypes of PLINK"),
        ("x.bim", b"1 a 0 100 A G\n1 b 0 200 C T\n", bed, "x.bed: 6 bytes, where 4 people in the .fam and 2 variants in the .bim take 5"),
        ("x.bim", b"", bed, "x.bim: no variants"),
        ("x.bim", b"1 a 0 100 A G\n1 b 0 200 C\n2 c 0 100 A T\n", bed, "x.bim:2:12: 5 fields, where chromosome, name, distance, position and two alleles are expected"),
        ("x.bim", b"1 a 0 100 A G\n1 b 0 many C T\n2 c 0 100 A T\n", bed, "x.bim:2:7: the position `many` is not a whole number"),
        ("x.bim", b"1 a 0 100 A G\n1 \xff 0 1 C T\n2 c 0 100 A T\n", bed, "x.bim:2:1: not text in UTF-8"),
        ("x.fam", b"", bed, "x.fam: no people"),
        ("x.fam", b"f i 0 0 1 1\nf j 0 0 2\n", bed, "x.fam:2:10: 5 fields, where family, id, father, mother, sex and phenotype are expected"),
        ("x.fam", b"f i 0 0 1 1\nf j 0 0 2 2\n  f i 0 0 1 2\n", bed, "x.fam:3:3: `f i` stands on line 1 already"),
        ("x.fam", b"f i 0 0 1 -9\nf j 0 0 2 -9\ng i 0 0 1 -9\ng j 0 0 1 -9\n", bed, "x.fam: nobody has a phenotype; they can be given in a table (--pheno)"),
        ("x.fam", b"f i 0 0 1 1\nf j 0 0 2 1\ng i 0 0 1 1\ng j 0 0 1 1\n", plain, "x.fam: all instances are of one class, 1"),
        ("x.fam", b"f i 0 0 1 1\nf j 0 0 2 2\ng i 0 0 1 3\ng j 0 0 1 1\n", plain, "x.fam:3:1: a third label, 3"),
        ("pheno", b"FID IID y\nf i 1\ng i 2\nf i 2\n", pheno, "pheno:4:1: `f i` stands on line 2 already"),
        ("pheno", b"f i 1\n", pheno, "pheno:1:1: the header of such a table begins with FID IID"),
        ("pheno", b"FID IID\n", pheno, "pheno:1:8: no columns after FID and IID"),
        ("pheno", b"FID IID y y\n", pheno, "pheno:1:11: a second column `y`"),
        ("pheno", b"", pheno, "pheno: no header: a table begins with FID IID"),
        ("pheno", b"FID IID a b\nf i 1 2\n", pheno, "pheno: no column `y`; the columns are a, b"),
        ("pheno", b"FID IID a b\nf i 1 2\n", "train x.bed --pheno pheno", "pheno: say which column holds the phenotype (--label); the columns are a, b"),
        ("pheno", b"FID IID y\nf i 1 2\n", pheno, "pheno:2:7: 4 fields where the header has 3"),
        ("pheno", b"FID IID y\nh i 1\n", pheno, "pheno: nobody has a phenotype"),
        ("covar", b"FID IID age\ng j 1\nf i old\n", pheno, "covar:3:5: covariate `age`: `old` is not a number; code it in numbers"),
        ("covar", b"FID IID age\ng x 1\n", pheno, "covar: nobody with a phenotype has all covariates"),
        ("covar", b"FID IID a\ng j 1\n", pheno, "covar: a variant is called `a` as well"),
    ];
    for (file, content, arguments, says) in cases {
        small(folder);
        fs::write(folder.join(file), content).unwrap();
        let said = refused(folder, arguments, 1);
        assert!(said.starts_with(says) && said.lines().count() == 1, "{file}: {said}, not {says}");
    }
    small(folder);
    fs::write(folder.join("covar"), "FID IID age\ng j 1\nf i 1\nf j 1\ng i 1\n").unwrap();
    assert!(refused(folder, pheno, 2).contains("--covar: column age has the same value everywhere"));
    assert!(refused(folder, "train x.bed --label y", 2).contains("--label: names a column of a table of phenotypes"));
    assert!(refused(folder, "train x.bed --labels pheno", 2).contains("--labels: the people of a .bed"));
    fs::remove_file(folder.join("x.bim")).unwrap();
    assert!(refused(folder, bed, 1).starts_with("x.bim: "));
    small(folder);
    run(folder, "train x.bed --covar covar -o model.json");
    fs::write(folder.join("covar"), "FID IID age\ng j 1\nf i 1\n").unwrap();
    let said = refused(folder, "predict model.json x.bed --covar covar", 1);
    assert!(said.starts_with("covar: not all covariates of 2 of 4 people are known"), "{said}");
    let said = refused(folder, "predict model.json x.bed", 1);
    assert!(said.starts_with("x.bed: lacks the 1 feature that the model looks at, age"), "{said}");
    assert!(refused(folder, "convert x.bed x.store", 1).contains("nothing to convert"));
}

/// Names that several variants have, or none: place and alleles tell these apart.
#[test]
fn what_lies_beside_genotypes_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small(folder);
    let before = fs::read(folder.join("x.bim")).unwrap();
    for file in ["x.bed", "x.bim", "x.fam"] {
        let said = refused(folder, &format!("train x.bed -o {file}"), 1);
        assert!(said.starts_with(&format!("{file}: ")), "{said}");
    }
    run(folder, "train x.bed -o model.json");
    assert!(refused(folder, "predict model.json x.bed -o x.fam", 1).starts_with("x.fam: "));
    assert_eq!(fs::read(folder.join("x.bim")).unwrap(), before);
}

#[test]
fn every_variant_has_a_name_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small(folder);
    fs::write(folder.join("x.bim"), "1 a 0 100 A G\n1 . 0 200 C T\n1 . 0 200 C T\n").unwrap();
    let names = |report: Value| selected(&report).into_keys().collect::<Vec<_>>();
    let all = names(json(folder, "train x.bed --gap 0.1 -C 100"));
    assert!(all.iter().all(|name| ["a", "1:200:C:T", "1:200:C:T#2"].contains(&name.as_str())), "{all:?}");
    assert!(all.iter().any(|name| name.starts_with("1:200:C:T")), "{all:?}");
}

/// Cases and controls may be 2 and 1, with 0 for those of whom it is not known; 0 and 1; or be written as words. Numbers are
/// numbers. Times have events beside them.
#[test]
fn phenotypes_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    small(folder);
    let pheno = |cells: [&str; 4]| {
        let people = ["f i", "f j", "g i", "g j"].iter().zip(cells);
        let lines: String = people.map(|(person, cells)| format!("{person} {cells}\n")).collect();
        fs::write(folder.join("pheno"), format!("FID IID y e\n{lines}")).unwrap();
    };
    let report = |options: &str| json(folder, &format!("train x.bed --pheno pheno {options}"));
    for (cells, n, classes) in [
        (["1 1", "2 1", "0 1", "2 1"], 3, ["1", "2"]),
        (["0 1", "1 1", "1 1", "0 1"], 4, ["0", "1"]),
        (["ill 1", "well 1", "NA 1", "ill 1"], 3, ["ill", "well"]),
    ] {
        pheno(cells);
        let report = report("--label y");
        assert_eq!((&report["n"], &report["classes"]), (&n.into(), &serde_json::json!(classes)), "{cells:?}");
    }
    pheno(["0 1", "2.5 1", "1 1", "-9 1"]);
    assert_eq!(report("--label y --loss squared")["n"], 3);
    pheno(["3 1", "2 0", "4 1", "1 NA"]);
    assert_eq!(report("--time y --event e --loss cox")["n"], 3);
    pheno(["3 1", "2 7", "4 1", "1 0"]);
    let said = refused(folder, "train x.bed --pheno pheno --time y --event e --loss cox", 1);
    assert!(said.starts_with("pheno:3:7: `7` does not say whether there was an event"), "{said}");
}

/// The commands of docs/genotypes.md print what stands there; `...` stands for lines that it does not show.
#[test]
fn the_page_tells_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    let page = include_str!("../../../docs/genotypes.md");
    let mut blocks = page.split("\n```").skip(1).step_by(2);
    let mut compared = 0;
    while let Some(block) = blocks.next() {
        let commands = block.strip_prefix("sh\n").expect("commands, then what they print");
        let shown = blocks.next().and_then(|block| block.strip_prefix("text\n")).expect("what they print");
        let mut printed = String::new();
        for command in commands.lines() {
            match command.split_once(' ').unwrap() {
                ("featgen", arguments) => printed += &run(folder.path(), arguments).0,
                ("cat", file) => printed += &fs::read_to_string(folder.path().join(file)).unwrap(),
                _ => panic!("{command}"),
            }
        }
        let mut rest = printed.as_str();
        let lines: Vec<&str> = shown.lines().collect();
        for part in lines.split(|line| *line == "...").map(|part| part.join("\n")) {
            let part = part.trim_matches('\n');
            let found =
                rest.find(part).unwrap_or_else(|| panic!("{commands}\nprints\n{printed}\nbut not\n{part}"));
            rest = &rest[found + part.len()..];
            compared += usize::from(!part.is_empty());
        }
    }
    assert!(compared >= 6, "{compared}");
}
