//! Exports run where they belong, as far as a compiler of C and Python's standard library go: decisions are those of the model. The
//! tests of Python go on with other homes.

use crate::common::{assert_close, cases, exported, has, printed, rows};

#[test]
fn c_says_the_same() {
    if !has("gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        let outputs = case.model.outputs();
        let program = format!(
            "{}\n#include <stdio.h>\nstatic const double rows[60][6] = {};\nint main(void)\n{{\n    double decision[{outputs}];\n    int i, k;\n    \
             for (i = 0; i < 60; i++) {{\n        featgen_decisions(rows[i], NULL, decision);\n        for (k = 0; k < {outputs}; k++) \
             printf(\"%.17g\\n\", decision[k]);\n    }}\n    return 0;\n}}\n",
            exported(&case.model, "c"),
            rows('{', '}')
        );
        std::fs::write(folder.path().join("model.c"), program).unwrap();
        let arguments =
            ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-o", "model", "model.c", "-lm"];
        printed("gcc", &arguments, folder.path());
        let said = printed(folder.path().join("model").to_str().unwrap(), &[], folder.path());
        assert_close(&said, &case.model.decision(&case.data).unwrap(), case.name);
    }
}

#[test]
fn python_says_the_same() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        std::fs::write(folder.path().join("model.py"), exported(&case.model, "python")).unwrap();
        let program = format!(
            "import model\nfor row in {}:\n    said = model.decision(row)\n    print(*(said if isinstance(said, list) else [said]))\n",
            rows('[', ']')
        );
        std::fs::write(folder.path().join("main.py"), program).unwrap();
        let said = printed("python3", &["-B", "main.py"], folder.path());
        assert_close(&said, &case.model.decision(&case.data).unwrap(), case.name);
    }
}

/// SQLite comes with Python.
#[test]
fn sql_says_the_same() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        std::fs::write(folder.path().join("model.sql"), exported(&case.model, "sql")).unwrap();
        let program = format!(
            "import sqlite3\nconnection = sqlite3.connect(':memory:')\nconnection.execute('CREATE TABLE data (\"1\", \"2\", \"3\", \"4\", \
             \"5\", \"6\")')\nconnection.executemany('INSERT INTO data VALUES (?, ?, ?, ?, ?, ?)', {})\nfor row in \
             connection.execute(open('model.sql', encoding='utf-8').read()):\n    print(*row[6:6 + {}])\n",
            rows('[', ']'),
            case.model.outputs()
        );
        std::fs::write(folder.path().join("main.py"), program).unwrap();
        let said = printed("python3", &["-B", "main.py"], folder.path());
        assert_close(&said, &case.model.decision(&case.data).unwrap(), case.name);
    }
}

/// Engines limit how deep expressions may be: SQLite to 1000.
#[test]
fn sums_of_thousands_are_not_too_deep() {
    if !has("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut model = cases(folder.path()).swap_remove(0).model;
    let term = model.terms[0].clone();
    model.terms = (0..5000)
        .map(|id| {
            let mut term = term.clone();
            term.feature = featgen::feature::Feature::input(id);
            term.weight.0[0] = 1.0;
            term
        })
        .collect();
    let select = exported(&model, "sql").replace("\"d\".\"", "\"d\".\"c");
    std::fs::write(folder.path().join("model.sql"), select).unwrap();
    std::fs::write(folder.path().join("model.py"), exported(&model, "python")).unwrap();
    // SQLite has 2000 columns at most, so that most of the 5000 stand for the same one.
    let program = "import model, re, sqlite3\nselect = re.sub('\"c\\\\d+\"', '\"c1\"', open('model.sql').read())\nconnection = \
                   sqlite3.connect(':memory:')\nconnection.execute('CREATE TABLE data (c1)')\nconnection.execute('INSERT INTO data VALUES \
                   (2)')\nprint(connection.execute(select).fetchone()[1], model.decision([2.0] * 5000))\n";
    std::fs::write(folder.path().join("main.py"), program).unwrap();
    let expected = 10000.0 - model.bias.0[0];
    assert_close(&printed("python3", &["-B", "main.py"], folder.path()), &[expected; 2], "5000 terms");
}
