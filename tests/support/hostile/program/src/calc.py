import sys


def main(words):
    name, left, right = words[0], int(words[1]), int(words[2])
    if name == "add":
        result = left + right
    elif name == "sub":
        result = left - right
    else:
        print("unknown: " + name, file=sys.stderr)
        return 2
    print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
