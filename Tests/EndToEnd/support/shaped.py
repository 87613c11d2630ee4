"""A test class that posts documents of other shapes."""

from .case import ServiceCase


class Shaped(ServiceCase):
    def sections(self, body, query):
        session, _ = self.made(body, query=query)
        return self.get_session(session).json["state"]["sections"]

    def items(self, body, query):
        sections = self.sections(body, query)
        self.assertEqual([each["id"] for each in sections], ["main"])
        return sections[0]["items"]
