"""The parts that errors are worded with."""

import pytest

from poolaudit.errors import close, first_of, nearest
from poolaudit.files import command


@pytest.mark.parametrize(
    ("n", "said"), [(0, ""), (1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more")]
)
def test_of_many_the_first_are_named_and_the_others_counted(n, said):
    assert first_of(map(str, range(n)), 3) == said


def test_what_stands_below_each_other_ends_with_how_many_more_there_are():
    assert first_of("abc", 2, between="\n") == "a\nb\nand 1 more"
    assert first_of(map(str, range(1021))).endswith("19 and 1,001 more")


def test_a_command_on_many_files_can_be_pasted_as_it_stands():
    assert command("touch", ["a b", "c"]) == "touch 'a b' c"
    names = [f"f{i}" for i in range(22)]
    assert command("rm -r", names) == f"rm -r {' '.join(names[:20])}  # and 2 more"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ndcg", ["nDCG"]),
        ("nDCGG", ["nDCG", "NCG"]),
        ("precision", ["Precision"]),
        ("usefulness", []),
    ],
)
def test_the_nearest_names_are_found_whatever_the_case_of_letters(name, found):
    known = ["nDCG", "NCG", "Precision", "RR"]
    assert close(name, known) == found
    assert nearest(name, known) == (f"did you mean {' or '.join(found)}?" if found else "")
