"""The judging sheet: what is written, and every way in which it can come back wrong."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolaudit.errors import AuditError
from poolaudit.escapes import defuse, undo
from poolaudit.tail import sheets


def sample(**columns):
    table = {
        "query_id": ["q1", "q1", "q2"],
        "query": ["tall trees", "tall trees", "-5 degrees"],
        "doc_id": ["00123", "=d2", "1234567"],
        "stratum": ["s1", "s2", "s1"],
        "inclusion_probability": [1 / 30, 0.2, 1 / 30],
        "relevance": pd.array([None] * 3, "Int16"),
    }
    return pd.DataFrame({**table, **columns})


HEADER = "query_id\tquery\tdoc_id\tstratum\tinclusion_probability\trelevance"
LINES = [
    "q1\ttall trees\t00123\ts1\t0.0333333\t",
    "q1\ttall trees\t'=d2\ts2\t0.2\t",
    "q2\t'-5 degrees\t1234567\ts1\t0.0333333\t",
]


@pytest.fixture
def read(tmp_path):
    """Read a sheet of these lines."""

    def read(*lines, grades=(0, 1, 2), encoding="utf-8", end="\n", header=HEADER):
        path = tmp_path / "judged.tsv"
        path.write_bytes((end.join([header, *lines]) + end).encode(encoding))
        before = path.read_bytes()
        try:
            return sheets.read_sheet(path, sample(), grades)["relevance"].tolist()
        finally:
            assert path.read_bytes() == before

    return read


def refused(read, *lines, **options):
    with pytest.raises(AuditError) as error:
        read(*lines, **options)
    return str(error.value)


class TestWriting:
    def test_a_line_a_document_with_grades_to_fill_in_at_the_end(self, tmp_path):
        sheets.write_sheet(tmp_path / "sheet.tsv", sample())
        assert (tmp_path / "sheet.tsv").read_text() == "\n".join([HEADER, *LINES]) + "\n"

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "'=1", "\t=1", "\r=1"])
    def test_no_cell_is_a_formula(self, text):
        assert defuse(text)[0] == "'"

    @given(st.text(st.sampled_from("'=+-@ab1"), max_size=5))
    def test_what_was_defused_can_be_undone(self, text):
        assert undo(defuse(text)) == text

    def test_texts_with_tabs_line_ends_and_quotes_keep_their_line(self, tmp_path):
        table = sample(text=['he said "no"\n\tand left', "b", "c"])
        path = tmp_path / "sheet.tsv"
        sheets.write_sheet(path, table)
        assert len(path.read_text().splitlines()) == 4
        assert sheets.read_sheet(path, table)["relevance"].isna().all()

    def test_a_sheet_nobody_touched_is_the_sample_again(self, tmp_path):
        sheets.write_sheet(tmp_path / "sheet.tsv", sample())
        again = sheets.read_sheet(tmp_path / "sheet.tsv", sample())
        pd.testing.assert_frame_equal(again, sample())


class TestReading:
    def test_grades_and_lines_left_open(self, read):
        assert read(LINES[0] + "2", LINES[1], LINES[2] + "0") == [2, pd.NA, 0]

    def test_in_any_order_and_with_empty_lines(self, read):
        assert read(LINES[2] + "0", "", LINES[0] + "2", LINES[1] + "1") == [2, 1, 0]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
    def test_as_spreadsheets_save_text(self, read, encoding):
        lines = (line + "1" for line in LINES)
        assert read(*lines, encoding=encoding, end="\r\n") == [1, 1, 1]

    def test_apostrophes_that_a_spreadsheet_took_away(self, read):
        lines = [line.replace("'", "") + "1" for line in LINES]
        assert read(*lines) == [1, 1, 1]

    def test_quotes_that_a_spreadsheet_put_in(self, read):
        assert read('"q1"\t"tall trees"\t"00123"\ts1\t0.0333333\t"2"', *LINES[1:])[0] == 2

    def test_more_columns_and_another_order_of_columns(self, read):
        header = "relevance\tremark\t" + HEADER.removesuffix("\trelevance")
        lines = ["1\tsure\t" + line.removesuffix("\t") for line in LINES]
        assert read(*lines, header=header) == [1, 1, 1]

    def test_unknown_pair(self, read):
        message = refused(read, LINES[0], LINES[1], LINES[2].replace("q2", "q9"))
        assert "line 4: the pair q9 1234567 is not in the sample" in message
        assert "judged.tsv:4" in message

    def test_ids_turned_into_numbers(self, read):
        message = refused(read, LINES[0], LINES[1], LINES[2].replace("1234567", "1.23E+06"))
        assert "line 4" in message
        assert "1.23E+06 is an id that a spreadsheet turned into a number" in message
        assert "import its columns as text" in message

    def test_zeros_dropped_before_ids(self, read):
        message = refused(read, LINES[0].replace("00123", "123"), *LINES[1:])
        assert "line 2" in message
        assert "dropped the zeros before q1 00123" in message

    @pytest.mark.parametrize("grade", ["3", "7"])
    def test_grades_out_of_range(self, read, grade):
        message = refused(read, LINES[0] + grade, *LINES[1:])
        assert f"line 2: the grade {grade} is not one of 0, 1, 2" in message

    @pytest.mark.parametrize("grade", ["yes", "1.5", "-1", "1,0"])
    def test_grades_that_are_no_whole_number(self, read, grade):
        assert f"the grade {grade} is no whole number" in refused(
            read, LINES[0] + grade, *LINES[1:]
        )

    def test_edited_probability(self, read):
        message = refused(read, LINES[0].replace("0.0333333", "0.5"), *LINES[1:])
        assert "line 2: the inclusion probability was changed from 0.0333333 to 0.5" in message

    def test_probability_with_a_decimal_comma(self, read):
        message = refused(read, LINES[0], LINES[1].replace("0.2", "0,2"), LINES[2])
        assert "changed from 0.2 to 0,2" in message

    def test_edited_stratum(self, read):
        message = refused(read, LINES[0].replace("s1", "s2"), *LINES[1:])
        assert "the stratum was changed from s1 to s2" in message

    def test_duplicate_line(self, read):
        message = refused(read, *LINES, LINES[0] + "1")
        assert "line 5: the same pair as in line 2" in message

    def test_dropped_lines(self, read):
        message = refused(read, LINES[1])
        assert "2 documents of the sample are gone: q1 00123, q2 1234567" in message

    def test_lines_of_another_length(self, read):
        message = refused(read, "q1\ttall trees\t00123", *LINES[1:])
        assert "line 2: 3 cells, the header has 6" in message

    @pytest.mark.parametrize(("separator", "name"), [(",", "commas"), (";", "semicolons")])
    def test_other_separators(self, read, separator, name):
        lines = [line.replace("\t", separator) for line in LINES]
        message = refused(read, *lines, header=HEADER.replace("\t", separator))
        assert f"saved with {name}" in message
        assert "save it as tab-separated text" in message

    def test_a_renamed_column(self, read):
        message = refused(read, *LINES, header=HEADER.replace("relevance", "Relevance"))
        assert "no column relevance" in message
        assert "did you mean Relevance?" in message

    def test_an_empty_file(self, tmp_path):
        (tmp_path / "judged.tsv").touch()
        with pytest.raises(AuditError, match="the sheet is empty"):
            sheets.read_sheet(tmp_path / "judged.tsv", sample())

    def test_all_mistakes_are_told_at_once(self, read):
        message = refused(read, LINES[0] + "9", LINES[1].replace("s2", "s1"), "q7\t\t\t\t\t")
        assert all(f"line {n}:" in message for n in (2, 3, 4))
        assert "5 mistakes" not in message
        assert "4 mistakes" in message  # q2 1234567 has no line


class TestTargeted:
    """A sheet that somebody wrote: any of the known pairs, without a chance of being drawn."""

    KNOWN = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["d1", "0042", "d3"]})

    def read(self, path, *lines):
        path.write_text("\n".join(["query_id\tquery\tdoc_id\troute\trelevance", *lines]) + "\n")
        return sheets.read_sheet(path, self.KNOWN, range(3), whole=False)

    def test_may_leave_documents_out(self, tmp_path):
        table = self.read(tmp_path / "read.tsv", "q2\t\td3\ttargeted\t2", "q1\t\td1\ttargeted\t")
        assert table["relevance"].tolist() == [pd.NA, pd.NA, 2]

    def test_other_mistakes_are_found_as_in_a_sample(self, tmp_path):
        lines = ("q1\t\td9\tt\t1", "q1\t\td1\tt\t3", "q1\t\td1\tt\t1", "q1\t\t42\tt\t1")
        with pytest.raises(AuditError, match="4 mistakes") as error:
            self.read(tmp_path / "read.tsv", *lines)
        message = str(error.value)
        assert "line 2: the pair q1 d9 was returned by no run and never judged" in message
        assert "line 3: the grade 3 is not one of 0, 1, 2" in message
        assert "line 4: the same pair as in line 3" in message
        assert "line 5" in message and "dropped the zeros before q1 0042" in message

    def test_is_no_sample(self, tmp_path):
        self.read(tmp_path / "read.tsv", "q1\t\td1\ttargeted\t2")
        with pytest.raises(AuditError, match="no column stratum"):
            sheets.read_sheet(tmp_path / "read.tsv", sample())


@pytest.mark.parametrize(
    ("grades", "meanings", "scale"),
    [
        ({"-2": 9, "0": 5, "1": 2}, {}, {0: "", 1: ""}),
        ({"0": 5}, {}, {0: "", 1: ""}),
        ({"0": 1, "2": 1}, {"1": "some", "3": "all"}, {0: "", 1: "some", 2: "", 3: "all"}),
    ],
)
def test_the_scale_ends_at_the_highest_grade_given_or_explained(grades, meanings, scale):
    assert sheets.scale({"grades": grades, "meanings": meanings}) == scale
