"""From which score on something fits."""

import pytest

from carrel.board.classifier.rules import Candidate, Candidates, TaskCandidate, choose_by_rules, named, scores
from carrel.board.profiles import Profile
from tests.board.classifier.test_rules import FENCE, FOREIGN

PAINT = TaskCandidate(id="paint", name="Paint the whole garden fence green", topic_id="fence")
WORDS = ["ka", "ki", "ko", "ku", "ke", "ga", "gi", "gu", "ge", "na", "ni", "nu", "ta", "tu"]


@pytest.mark.parametrize(("similarity", "fits"), [(0.966, False), (0.967, True)])
def test_a_topic_fits_from_a_score_of_0_29_on(similarity: float, *, fits: bool) -> None:
    candidates = Candidates(topics=[FENCE])
    assert choose_by_rules([FOREIGN], candidates, {"fence": similarity}).topic_id == ("fence" if fits else None)


@pytest.mark.parametrize(("similarity", "fits"), [(0.53, False), (0.56, True)])
def test_a_task_fits_from_a_score_of_0_4_on(similarity: float, *, fits: bool) -> None:
    candidates = Candidates(tasks=[PAINT], topic_id="fence")
    asked = ["umbrella weather garden fence"]
    assert choose_by_rules(asked, candidates, {"paint": similarity}).task_id == ("paint" if fits else None)


@pytest.mark.parametrize(("similarity", "fits"), [(0.59, False), (0.61, True)])
def test_a_topic_that_the_classifier_has_made_fits_from_a_score_of_0_6_on(similarity: float, *, fits: bool) -> None:
    said = Profile().with_said(["paint garden fence"] * 9)
    candidates = Candidates(topics=[Candidate(id="made", name="Wood", profile=said, is_mergeable=True)])
    (score,) = scores("paint garden fence", candidates.topics, {})
    near = {"made": (similarity - score.value) / 0.3}
    assert choose_by_rules(["paint garden fence"], candidates, near).topic_id == ("made" if fits else None)


@pytest.mark.parametrize(("shared", "of", "same"), [(5, 7, False), (8, 11, True)])
def test_names_mean_the_same_topic_from_a_share_of_0_72_on(shared: int, of: int, *, same: bool) -> None:
    topics = [Candidate(id="known", name=" ".join(WORDS[:of]))]
    assert named(" ".join(WORDS[:shared]), topics).topic_id == ("known" if same else None)


@pytest.mark.parametrize(("shared", "of", "same"), [(7, 9, False), (11, 14, True)])
def test_titles_mean_the_same_task_from_a_share_of_0_78_on(shared: int, of: int, *, same: bool) -> None:
    known = TaskCandidate(id="known", name=" ".join(WORDS[:of]), topic_id="fence")
    asked = [f"todo: {' '.join(WORDS[:shared])}"]
    place = choose_by_rules(asked, Candidates(tasks=[known], topic_id="fence"), {})
    assert (place.task_id, place.new_task is None) == (("known", True) if same else (None, False))
