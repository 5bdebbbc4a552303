"""What tells persons apart: SipHash as its authors publish it, and words that differ for different keys."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sklar.rows.kernels.keyed import siphash, text_hashes
from sklar.rows.persons.keys import Secret, key_encoders


def test_siphash_is_that_of_the_paper() -> None:
    """Appendix A of Aumasson, Bernstein (2012), and the first vectors of their code: key 0, 1, ..., 15."""
    low, high = (np.uint64(int.from_bytes(bytes(range(at, at + 8)), "little")) for at in (0, 8))
    data = np.arange(64, dtype=np.uint8)
    known = {0: 0x726FDB47DD0E0E31, 1: 0x74F839C593DC67FD, 2: 0x0D6C8009D9A94F5A, 3: 0x85676696D7FB7E2D,
             7: 0xAB0200F58B01D137, 8: 0x93F5F5799A932462, 15: 0xA129CA6149BE45E5}  # fmt: skip
    assert {length: int(siphash(data, 0, length, low, high)) for length in known} == known
    assert int(siphash(data[3:], -3 + 3, 15, low, high)) != known[15]


def test_a_text_that_is_not_valid_has_the_hash_of_none() -> None:
    out = np.empty(3, dtype=np.uint64)
    data = np.frombuffer(b"abab", dtype=np.uint8)
    begins, ends = np.array([0, 2, 0], dtype=np.int32), np.array([2, 4, 0], dtype=np.int32)
    text_hashes(data, begins, ends, np.array([True, False, True]), np.uint64(1), np.uint64(2), out)
    assert out[1] == out[2] != out[0]


def test_keys_have_words_of_their_own_and_secrets_change_them() -> None:
    keys = pa.array([str(k) for k in range(20_000)])
    words = [encoder.encode(keys) for encoder in key_encoders("id", Secret(words=(1, 2, 3, 4, 5)), ())]
    assert all(len(np.unique(column)) == 20_000 for column in words)
    assert not (words[0] == words[1]).any()
    other = key_encoders("id", Secret(words=(9, 2, 3, 4, 5)), ())[0].encode(keys)
    assert not (other == words[0]).any()
    assert Secret() != Secret()


def test_keys_of_any_arrow_type_are_compared_by_their_text() -> None:
    encode = key_encoders("id", Secret(words=(1, 2, 3, 4, 5)), ())[0].encode
    plain = encode(pa.array(["7", "8", None]))
    same = [pa.array([7, 8, None]), pa.array([7.0, 8.0, float("nan")]), pa.array(["7 ", " 8", "  "]),
            pa.array(["7", "8", None]).dictionary_encode(), pa.array([b"7", b"8", None]),
            pa.array(["7", "8", None], pa.large_string())]  # fmt: skip
    for array in same:
        assert np.array_equal(encode(array), plain)


def test_a_whole_number_is_one_key_with_a_fraction_of_zeros_and_without() -> None:
    """As in CSV files of one table, of which one has gaps in its column; nothing else is read as a number."""
    encode = key_encoders("id", Secret(words=(1, 2, 3, 4, 5)), ())[0].encode
    for whole, others in {"7": ["7.0", " 7.", "7.000"], "-12": ["-12.0"], "0": ["0.0"]}.items():
        assert len({int(word) for word in encode(pa.array([whole, *others]))}) == 1
    apart = [
        "7",
        "07",
        "7.01",
        "7.10",
        "7.1",
        "-7",
        "7.0.0",
        ".0",
        ".",
        "-.0",
        "7,0",
        "7.0a",
        "+7",
        "7e0",
        "70",
        "a7.0",
        "a7",
    ]
    assert len(set(encode(pa.array(apart)).tolist())) == len(apart)


def test_letters_are_composed() -> None:
    """As keys of files that were written on different systems are."""
    encode = key_encoders("id", Secret(words=(1, 2, 3, 4, 5)), ("e\u0301",))[0].encode
    for one, other in (("Jose\u0301", "Jos\u00e9"), ("\u212b", "\u00c5"), (" \u1112\u1161\u11ab", "\ud55c ")):
        assert len(set(encode(pa.array([one, "x", other])).tolist())) == 2
        assert encode(pa.array([one]).dictionary_encode())[0] == encode(pa.array([other.encode()]))[0]
    assert encode(pa.array(["\u00e9", "e\u0301"])).tolist() == [0, 0]  # a text that stands for null
    apart = [b"\xff", b"\xff\x80", "é".encode(), "É".encode(), "ﬁ".encode(), b"fi"]  # bytes, capitals, ligatures
    assert len({*encode(pa.array(apart)).tolist(), 0}) == len(apart)


def test_texts_that_stand_for_null_are_no_key_however_they_are_spelled() -> None:
    encode = key_encoders("id", Secret(words=(1, 2, 3, 4, 5)), ("NA", " -9.0"))[0].encode
    nulls = ["NA", " NA", "NA ", "-9", "-9.0", "-9.00", " -9 ", "", None]
    assert set(encode(pa.array(nulls)).tolist()) == {0}
    assert len(set(encode(pa.array(["NA", "N A", "9", "-99"])).tolist())) == 4
