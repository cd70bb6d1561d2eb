"""What a card promises: the exact terms, and the same in plain words."""

from __future__ import annotations

from statveil.made_plan import Plan
from statveil.problem.wording import distortion_text, hit_text, share_of
from statveil.rounding import shown_up
from statveil.words.plan import change_sentences, risk_sentence

__all__ = ["distortion_says", "guarantee_says", "in_words"]


def guarantee_says(plan: Plan, accepted: tuple[str, ...] = ()) -> str:
    """The guarantee in its exact terms, with what takes away from it."""
    mode = plan.release_mode
    what = "table" if mode.of_table else "columns" if mode.of_columns else "column"
    return (
        f"Under the stated prior, anyone who sees the released {what} and knows this plan guesses the original's "
        f"{hit_text(plan.problem)} with probability at most {shown_up(plan.risk)} ({plan.risk_kind}).{_alone(plan)}"
        f"{_but(plan, accepted)}"
    )


def in_words(plan: Plan, *, column: str | None, accepted: tuple[str, ...] = ()) -> str:
    """The same for people who know no statistics: how often a guess is right, and how far the statistic moves."""
    risk = risk_sentence(plan.problem, plan.risk, kind=plan.risk_kind, without=plan.risk_without_release, column=column)
    said = [risk, *change_sentences(plan, column=column)]
    return " ".join(sentence.says for sentence in said) + _but(plan, accepted)


def _but(plan: Plan, accepted: tuple[str, ...]) -> str:
    """What takes away from the guarantee, said where the guarantee is said."""
    but = f" {plan.release_mode.but}" if plan.release_mode.but else ""
    if accepted:
        but += f" It does not hold for someone who knows what was accepted as a leak: {', '.join(accepted)}."
    return but


def _alone(plan: Plan) -> str:
    """Of two secrets, what holds of each."""
    found = plan.of_each
    if found is None:
        return ""
    parts = (
        f"the {one.secret.label} at most {shown_up(each.value)}"
        for one, each in zip(plan.problem.each, found.each, strict=True)
    )
    return f" Alone: {', '.join(parts)}; both at once at most {shown_up(found.intersection.value)}."


def distortion_says(plan: Plan) -> str:
    """What the number is, which not everyone would guess."""
    if plan.problem.family.model is not None:
        what = f"change of the {plan.problem.secret.label}"
        if plan.problem.measure.kind == "relative":
            what = share_of(plan.problem)
        return (
            f"The largest {what}: at most {distortion_text(plan.problem, plan.distortion)}. What the column differed "
            "from the model comes on top; its holder was told."
        )
    if plan.release_mode.of_table:
        left = share_of(plan.problem) if plan.problem.measure.kind == "relative" else "number of rows that are left out"
        return f"The largest {left}: at most {distortion_text(plan.problem, plan.distortion)}. No value is changed."
    if plan.problem.family.shapeless:
        what = "W1 distance between original and release, in the column's unit"
        if plan.problem.measure.kind == "relative":
            what = share_of(plan.problem)
        return f"The largest {what}: at most {distortion_text(plan.problem, plan.distortion)}."
    if plan.problem.also and plan.problem.family.column_text == "a column of any shape":
        return (
            "The largest W1 distance between original and release, in the column's unit, whatever the shape: at most "
            f"{shown_up(plan.distortion)}."
        )
    what = _DISTANCES[plan.problem.distance]
    says = f"The largest {what} between the model at the true and at the released parameters: at most "
    says += f"{shown_up(plan.distortion)}."
    if plan.release_mode.random:
        says += " The rows of a column whose shape is not the model's may change by more; its holder was told."
    return says


_DISTANCES = {
    "w1": "W1 distance",
    "log-w1": "W1 distance of the logarithms",
    "tv": "total variation distance",
}
