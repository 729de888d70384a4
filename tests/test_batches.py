"""Which runs are read by one job."""

from hypothesis import given
from hypothesis import strategies as st

from poolaudit.batches import batches

NAMES = st.sets(st.text(min_size=1, max_size=5), max_size=30)


def test_known_places():
    # SHA-256 of "a" begins ca978112ca1bbdca, of "b" 3e23e8160039594a, of "c" 2e7d2c03a9507ae2:
    # their remainders by 8 are 2, 2 and 2.
    assert batches(["c", "b", "a"], 8) == {3: ["a", "b", "c"]}
    assert batches(["c", "b", "a"], 16) == {3: ["c"], 11: ["a", "b"]}


@given(NAMES, st.integers(1, 9))
def test_every_name_is_in_one_batch(names, most):
    found = batches(names, most)
    assert sorted(name for batch in found.values() for name in batch) == sorted(names)
    assert all(1 <= number <= most for number in found)


@given(NAMES, st.text(min_size=1, max_size=5), st.integers(1, 9))
def test_a_new_name_moves_no_other(names, new, most):
    place = {name: number for number, batch in batches(names, most).items() for name in batch}
    after = batches({*names, new}, most)
    assert all(name in after[number] for name, number in place.items())


def test_many_names_fill_the_batches_evenly():
    sizes = [len(batch) for batch in batches(map(str, range(5000)), 8).values()]
    assert len(sizes) == 8
    assert max(sizes) < 1.2 * min(sizes)
