"""The page about choosing a model runs as it is written."""

from pages import examples


def test_the_examples_of_the_page_run():
    names = examples("docs/model-selection.md", least=5)
    assert names["found"].best_estimator_.converged_
    assert names["model"].threshold_.precision == 0.9
    assert set(names["chooser"].best_params_) == {"C", "norm", "smoothing"}
