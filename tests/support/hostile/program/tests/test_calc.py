from calc import main


def test_add(capsys):
    assert main(["add", "2", "3"]) == 0
    assert capsys.readouterr().out == "5\n"


def test_sub(capsys):
    assert main(["sub", "5", "3"]) == 0
    assert capsys.readouterr().out == "2\n"


def test_refuse(capsys):
    assert main(["mul", "5", "3"]) == 2
    assert "unknown: mul" in capsys.readouterr().err
