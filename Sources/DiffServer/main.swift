print("diffserver")
