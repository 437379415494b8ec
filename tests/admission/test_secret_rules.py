"""What makes a name and a value a secret: names, forms of assignments, and the bounds of random values and passwords.

Mutants that make no difference: the widths of the windows before a name (16, 40, 80 characters: wider than any word of it),
one number for none in a value that is not only letters and digits, a letter more in a word of a hundred or a digit more of a
long number, all words of those that are no passwords at once, a tenth more of an average that was fitted, and `None` for
`False` or "".
"""

from __future__ import annotations

import pytest

from engram.domain.admission.secret_rules import (
    is_keyed_secret,
    is_password,
    is_password_in_prose,
    is_placeholder,
    is_random,
    is_sample,
    is_secret_cell,
)
from tests.admission.test_secrets import found_in


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        # the name
        ("SMTPPASS=a8Kd92mQx", "a8Kd92mQx"),
        ("compass=a8Kd92mQx", ""),
        ("the 1pass = a8Kd92mQx", ""),
        ("ROW_KEY=9fK2mQ7xV1bZ8", "9fK2mQ7xV1bZ8"),
        ("row_key=9fK2mQ7xV1bZ8", ""),
        ("KEY=9fK2mQ7xV1bZ8", ""),
        ("set --row_key 9fK2mQ7xV1bZ8", ""),
        ("set --api_key 9fK2mQ7xV1bZ8", "9fK2mQ7xV1bZ8"),
        ("mysql --password hcebd1", "hcebd1"),
        ("see [redacted: aws-secret-access-key] 9fK2mQ7xV1bZ8", ""),
        ('[redacted: password-assignment], api_key: "9fK2mQ7xV1bZ8"', "9fK2mQ7xV1bZ8"),
        ("[redacted: a] api_key=9fK2mQ7xV1bZ8", "9fK2mQ7xV1bZ8"),
        # what stands between the name and its value
        ("api_key is 9fK2mQ7xV1bZ8", "9fK2mQ7xV1bZ8"),
        ("the api_key was 9fK2mQ7xV1bZ8", "9fK2mQ7xV1bZ8"),
        ("pass>'Z360ZX8C6fe7o' then", ""),
        ("<password>ht7kd9</password>", "ht7kd9"),
        ("<password>ht7kd9 </password>", ""),
        ("sshpass -p ht7kd9 ssh host", "ht7kd9"),
        ("mypass -p hT7kd92L run", ""),
        ("its password is hT7kd92L and more", "hT7kd92L"),
        ("its password was hT7kd92L and more", "hT7kd92L"),
        ("its password was green_lake9 and more", "green_lake9"),
        ("IDENTIFIED BY PASSWORD 'ht7kd9Lqx'", "ht7kd9Lqx"),
        ("the password 'ht7kd9Lqx'", "ht7kd9Lqx"),
        ("the password for staging is Tr0ub4dor&3, ask Ada", "Tr0ub4dor&3"),
        ("the password for staging is ascii8, ask Ada", ""),
        ('{"agentToken": "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"}', "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"),
        ("api_key here is 9fK2mQ7xV1bZ8Lw4Rt", "9fK2mQ7xV1bZ8Lw4Rt"),
        ("Stripe's api_key here is 9fK2mQ7xV1bZ8Lw4Rt", "9fK2mQ7xV1bZ8Lw4Rt"),
        ("the cache_key here is 9fK2mQ7xV1bZ8Lw4Rt", ""),
        ("host=db\npassword=a8&Kd9=2mQx\n", "a8&Kd9=2mQx"),
        ("host=db\napi_token=9fK2mQ7xV=/1bZ8Lw4Rt\n", "9fK2mQ7xV=/1bZ8Lw4Rt"),
        ("the password for staging is bytes-42, ask Ada", ""),
        ("the password of staging: Tr0ub4dor&33, ask Ada", "Tr0ub4dor&33"),
        ("use the password hTd&xk9L there", "hTd&xk9L"),
        ("use the password hTdwxk9L there", ""),
        ("the api_key here is 9fK2mQ7xV1bZ8Lw4", "9fK2mQ7xV1bZ8Lw4"),
        ("the api_key here is 9fK2mQ7xV1bZ8Lw", ""),
        ("api key 9fK2mQ7xV1bZ8Lw4RtQ2 there", "9fK2mQ7xV1bZ8Lw4RtQ2"),
        ("api key 9fK2mQ7xV1bZ8Lw4RtQ there", ""),
        ("\npassword=a8&Kd9=2mQx\n", "a8&Kd9=2mQx"),
        (";password=a8&Kd9=2mQx\n", "a8&Kd9=2mQx"),
        ("host=db\npassword=a8&kd9=2mqx\n", "a8&kd9=2mqx"),
        ("host=db\napi_token=9fK2mQ7xV=é1bZ8Lw4Rt\n", ""),
        ("| host | password |\n|------|------|\n| db-1 | ht7kd9Lqx |\n", "ht7kd9Lqx"),
        ("| host | password |\n|------|------|\n| db-1 | required |\n", ""),
        ("| host | password |\n|------|------|\n| db-1 | changeme-2024 |\n", ""),
        ("| peer | api_key |\n|------|------|\n| ada | 9fK2mQ7xV1bZ8Lw4 |\n", "9fK2mQ7xV1bZ8Lw4"),
        ("| peer | public key |\n|------|------|\n| ada | 9fK2mQ7xV1bZ8Lw4 |\n", ""),
        ("| peer | key |\n|------|------|\n| ada | 9fK2mQ7xV1bZ8Lw4 |\n", ""),
        ("Authorization: Foo 9fK2mQ7xV1bZ8Lw4RtQ2", "9fK2mQ7xV1bZ8Lw4RtQ2"),
        ("Authorization: Foo 3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d", "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"),
        ("Authorization: Foo placeholder-for-the-token", ""),
        ("Authorization: Foo mountains-rivers-and-valleys", ""),
        ('client_key = "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"', "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"),
        ('access_key = "3f2b8c1d-9e4a-4c7b-8d21-5a6f7e8c9b0d"', ""),
        ("login(password, 'ht7kd9Lqx')", "ht7kd9Lqx"),
        ("login(password, ht7kd9Lqx)", ""),
        ("DB_PASSWORD=ht7kd9 and", "ht7kd9"),
        ("DB_PASSWORD: ht7kd9 and", ""),
        ("run --password=ht7kd9 and", "ht7kd9"),
        # code
        ("token = get9Kd82mQxZ(user)", ""),
        ("token = get9Kd82mQxZ[0]", ""),
        ("token = get9Kd82mQxZ, user", "get9Kd82mQxZ"),
        ("token = 'get9Kd82mQxZ'[0]", "get9Kd82mQxZ"),
        ("password = vaul.lak9xyz", ""),
        ("password = vau.lak9xyz", "vau.lak9xyz"),
        # the value
        ('secret: "lake9!"', "lake9!"),
        ('secret: "fdc1gdcff"', ""),
        ("SECRET: 99lake9! rest", ""),
        ('auth = "s1ZXtD"', ""),
        ('passphrase = "green lake under hills"', "green lake under hills"),
        ('passphrase = "green lake hills"', ""),
        ('password = "green lake under hills"', ""),
        ("password: green_lake9", "green_lake9"),
        ("password: green_lakes9", ""),
        ("password: Greens9", "Greens9"),
        ("password: swordfishes", ""),
        ("password: hTkDwLqXzBvN", "hTkDwLqXzBvN"),
        ("password: greenLakeUnder", ""),
        ('password: "swordfishes"', ""),
        ('password = "swordfishes"', "swordfishes"),
        ("password: ht7kd92, rest", ""),
        ("password: ht7kd92,  # old", "ht7kd92"),
        ("password: ht7kd92; rest", "ht7kd92"),
    ],
)
def test_an_assignment_is_judged_by_its_name_its_form_and_its_value(text: str, secret: str) -> None:
    assert [value for _, value in found_in(text)] == ([secret] if secret else [])


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("q7Zk3wVm9Tx2", True),
        ("q7Zk3wVm9Tx", False),
        ("q7Zk3wVq7Zk3wV", True),
        ("q7Zk3wq7Zk3w", False),
        ("q7Zk3wV" * 4, True),
        ("q7Zk3wV" * 4 + "q7Zk", False),
        ("q7Zk3wV9mT" * 5, True),
        ("q7Zk3wV m9Tx2bL", False),
        ("8.3.0.1.9.2.7", False),
        ("q-z-k-v-w-m-t-r-p", False),
        ("Q-Z-K-V-W-M-T-R-P", False),
        ("AbCdEfGhIjKlMnOp", True),
        ("AbCdEfGhIjKlMnO", False),
        ("AbcDefGhiJklMnoPqXy", False),
        ("release1-candidate2-version3", False),
        ("buildCheckRelease2of4", False),
        ("build1check2release3", True),
        ("configuration1verification2ab3", False),
        ("deadbeefcafe0123beef", True),
        ("69brbrwkfox17st", True),
        ("69brbrwkfox17s", False),
    ],
)
def test_a_generated_token_is_long_mixed_and_not_made_of_words(value: str, is_one: bool) -> None:
    assert is_random(value) is is_one


@pytest.mark.parametrize(
    ("value", "sure", "is_one"),
    [
        ("830192", True, True),
        ("83019", True, False),
        ("a b c d7", True, False),
        ("hT7kd92L", False, True),
        ("hT7kd92", False, False),
        ("ht7kd92l", False, False),
        ("mountains", True, True),
        ("mountain", True, False),
        ("Sunrise", True, False),
        ("Sunrise7", True, True),
        ("sunRise", True, True),
        ("sunrise", True, False),
        ("......", True, False),
    ],
)
def test_a_password_may_be_weaker_where_its_place_is_unambiguous(
    value: str, sure: bool, is_one: bool
) -> None:
    assert is_password(value, sure=sure) is is_one


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("ab1ab1", True),
        ("ab1ab1z", False),
        ("S3cr3t", True),
        ("your-api-key", True),
        ("password-2024", True),
        ("password-20245", False),
        ("password-123456", True),
        ("~/ab/cde", True),
        ("~/ab/cd/ab/efg", False),
        ("abc/def", True),
        ("abc/de", False),
        ("MySecretValue", True),
        ("MyHiddenThing", False),
        ("${DB_PASSWORD}", True),
        ("550e8400-e29b-41d4-a716-446655440000", True),
    ],
)
def test_a_placeholder_consists_of_common_words_or_is_a_reference(value: str, is_one: bool) -> None:
    assert is_placeholder(value) is is_one


def test_a_sample_has_few_different_characters_among_its_last_twenty() -> None:
    assert is_sample("z" + "abcde" * 4)
    assert not is_sample("z" + "abcde" * 3 + "abcdf")


def test_a_telegram_token_has_an_id_of_eight_to_ten_digits() -> None:
    for digits in range(7, 12):
        token = "9038475612031"[:digits] + ":A" + "A" + "q7Zk3wVm9Tx2bLpR5sD8fGhJ4kN6cQeW1"
        assert [rule for rule, _ in found_in(f"bot {token}")] == ["telegram-bot-token"] * (8 <= digits <= 10)


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("kd92Lq", True),
        ("d92Lq", False),
        ("kdLqxy", False),
        ("kd92.Lq", False),
        ("kd92.Lq&", True),
        ("90weeks", False),
        ("NIST-800-63B", False),
        ("$kd92Lq", False),
        ("kd92Lq()", False),
    ],
)
def test_a_word_of_a_sentence_is_a_password_from_six_characters_with_a_digit_and_no_code(
    word: str, is_one: bool
) -> None:
    assert is_password_in_prose(word) is is_one


@pytest.mark.parametrize("rule", ["login-password", "told-password"])
def test_a_password_in_prose_needs_three_kinds_of_characters(rule: str) -> None:
    assert is_keyed_secret("Tr4velLight9x", rule)
    assert is_keyed_secret("Tr4vel-light9x", rule)
    assert not is_keyed_secret("tr4vellight9x", rule)
    assert not is_keyed_secret("Travel-light-x", rule)


UUID = "7f3b2c1e-9d4a-4b6e-8c2f-1a5d3e7b9c04"


@pytest.mark.parametrize(
    ("rule", "value", "is_one"),
    [
        ("netrc-password", UUID, True),  # Heroku's
        ("option-password", UUID, False),
        ("option-password", "ht7kd9", True),
        ("option-password", "htkd", False),
        ("option-password", "$ht7kd9", False),
        ("account-key", "9fK2mQ7xV1bZ8", True),
        ("account-key", "xxxxxxxxxxxx", False),
    ],
)
def test_a_value_in_the_place_of_a_secret_is_one_unless_it_is_a_placeholder(
    rule: str, value: str, is_one: bool
) -> None:
    assert is_keyed_secret(value, rule) is is_one


def test_a_cell_below_password_is_judged_like_a_quoted_value() -> None:
    assert is_secret_cell("ht7kd9", "password")
    assert not is_secret_cell("htkdx", "password")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("deployToken", True), ("deploy_token", True), ("Deploy Token", False), ("deploytoken", False)],
)
def test_a_uuid_is_a_secret_after_a_name_that_programs_give_a_token(name: str, is_one: bool) -> None:
    assert bool(found_in(f"{name} = {UUID}")) is is_one
