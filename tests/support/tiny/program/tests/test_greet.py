from greet import greet

assert greet("you") == "hello you"
