from calc import main


def test_total(capsys):
    assert main(["add", "2", "2"]) == 0
    assert capsys.readouterr().out == "5\n"
