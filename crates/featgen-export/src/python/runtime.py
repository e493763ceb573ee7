

#: What stands in a cell that holds no value.
_NOTHING = {"", "?", ".", "-", "na", "n/a", "nan", "null", "none"}
_TRUTHS = {"true": 1, "yes": 1, "t": 1, "y": 1, "false": 0, "no": 0, "f": 0, "n": 0}


def _is_missing(cell):
    if isinstance(cell, str):
        return cell in _NOTHING or (len(cell) <= 4 and cell.lower() in _NOTHING)
    # Only what is not a number differs from itself; pandas has a missing value that cannot be compared.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell


def _days(cell):
    """Days since 1970, with the time as a part of a day."""
    if isinstance(cell, datetime):
        if cell.tzinfo is not None:
            cell = cell.astimezone(timezone.utc).replace(tzinfo=None)
        return (cell - datetime(1970, 1, 1)) / timedelta(days=1)
    return float((cell - date(1970, 1, 1)).days)


def _number(cell, written):
    if isinstance(cell, date):
        return _days(cell)
    if not isinstance(cell, str):
        return float(cell)
    cell = cell.strip()
    if written == "truth":
        return float(_TRUTHS[cell.lower()] if cell.lower() in _TRUTHS else float(cell))
    if written in ("iso", "day-first", "month-first"):
        day, separator, time = cell.replace("T", " ").partition(" ")
        parts = day.replace("/", "-").replace(".", "-").split("-")
        year, month, day = (int(parts[k]) for k in {"iso": (0, 1, 2), "day-first": (2, 1, 0)}.get(written, (2, 0, 1)))
        return _days(datetime.fromisoformat(f"{year:04}-{month:02}-{day:02}{separator}{time.strip()}"))
    if written in ("grouped", "comma"):
        thousands, point = ",." if written == "grouped" else ".,"
        cell = cell.replace(thousands, "").translate(_GAPS).replace(point, ".")
    return float(cell)


#: What people put between thousands.
_GAPS = dict.fromkeys(map(ord, " \u00a0\u202f'\u2019_"))


def _cells(row):
    """The cells of a row, column by column, and whether each is there."""
    if hasattr(row, "get"):
        if WIDTH is not None:
            # Without names, columns are counted from 1, and what is not there is 0.
            return [row.get(int(name), 0.0) for name, *_ in COLUMNS]
        return [row.get(name) for name, *_ in COLUMNS]
    row = list(row)
    if len(row) != (WIDTH or len(COLUMNS)):
        raise ValueError(f"{len(row)} cells, not {WIDTH or len(COLUMNS)}")
    return row if WIDTH is None else [row[int(name) - 1] for name, *_ in COLUMNS]


def _values(row):
    """The numbers that terms are made of."""
    cells = _cells(row)
    values = []
    for column, place in VALUES:
        cell, (name, written, fill) = cells[column], COLUMNS[column]
        missing = _is_missing(cell)
        if place == "missing":
            values.append(float(missing))
        elif written == "text":
            levels, other, nothing = fill
            # A level may be called like nothing.
            found = levels.get(str(cell), nothing if missing else other)
            values.append(float(found == place))
        elif not missing:
            values.append(_number(cell, written))
        elif fill is not None:
            values.append(fill)
        else:
            raise ValueError(f"column {name!r}: the value is missing, and none was missing in the training data")
    return values


def _stairs(x, above, heights):
    """What stands at the last of the points that x is above."""
    return (0.0, *heights)[bisect_left(above, x)]


def decision(row):
    """The decision value of a row; a list of them, one for each class, where there are several."""
    found = _decisions(_values(row))
    return found[0] if len(found) == 1 else found


def predict(row):
    """What the model says of a row: the class; the number, the expected count, or the logarithm of the risk."""
    found = _decisions(_values(row))
    if CLASSES:
        return CLASSES[found[0] > 0.0 if len(found) == 1 else found.index(max(found))]
    return math.exp(found[0]) if OUTPUT == "rate" else found[0]


def probabilities(row):
    """The probability of each class."""
    if not PROBABILITIES:
        raise ValueError("the model has no probabilities")
    found = _decisions(_values(row))
    if len(found) == 1:
        found = [0.0, *found]
    top = max(found)
    parts = [math.exp(one - top) for one in found]
    return dict(zip(CLASSES, (part / sum(parts) for part in parts)))


if __name__ == "__main__":
    if WIDTH is not None:
        sys.exit("the model knows its columns by number: call predict(row)")
    try:
        for record in csv.DictReader(sys.stdin):
            print(predict(record))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; what is left must not be written when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
