"""People and their calendars: contacts, meetings, appointments, courses, pets."""

from cllm_core.tasks.notes import words
from cllm_core.tasks.notes.kinds import Kind, facet, lead
from cllm_core.tasks.notes.values import (
    address,
    both,
    city,
    clock,
    closed,
    code,
    count,
    day,
    email,
    measure,
    minutes,
    money,
    number,
    one_of,
    person,
    states,
)

PERSON = Kind(
    "person",
    lead(
        "name",
        person,
        "Met {0} at the fair|{0} is a new contact|Please add {0} to the address book|Talked to {0} on the phone"
        "|{0} gave me a card|Had coffee with {0}|Got to know {0}|{0} joined the club",
    ),
    (
        facet(
            "age",
            count(18, 94),
            "aged {0}|{0} years old|{0}|age {0}|who is {0}",
            "Age: {0}.|Age is {0}, I believe.|That's someone aged {0}.|Turned {0} this year.",
        ),
        facet(
            "job",
            one_of(words.JOBS),
            "works as {0}|{0} by trade|job: {0}|{0}|employed as {0}",
            "The job is {0}.|Works as {0}.|Occupation: {0}.|Earns a living as {0}.",
        ),
        facet(
            "company",
            one_of(words.COMPANIES),
            "at {0}|from {0}|with {0}|company {0}|employed by {0}",
            "Works for {0}.|The company is {0}.|Employer: {0}.|Is with {0} now.",
        ),
        facet(
            "city",
            city,
            "from {0}|lives in {0}|based in {0}|home is {0}|now in {0}",
            "Lives in {0}.|Home town: {0}.|The city is {0}.|Moved to {0}.",
        ),
        facet(
            "email",
            email,
            "email {0}|{0}|mail: {0}|reach at {0}|write to {0}",
            "The email is {0}.|Email: {0}.|Mail goes to {0}.|You can write to {0}.",
        ),
        facet(
            "phone",
            code("555-####"),
            "phone {0}|tel. {0}|call {0}|number {0}|mobile {0}",
            "The phone number is {0}.|Phone: {0}.|Call {0}.|You can ring {0}.",
        ),
        facet(
            "birthday",
            day(1940, 2006),
            "born {0}|born on {0}|birthday {0}|date of birth {0}|b. {0}",
            "Was born on {0}.|Date of birth: {0}.|Birthday is {0}.|The birth date is {0}.",
        ),
    ),
)

MEETING = Kind(
    "meeting",
    lead(
        "topic",
        one_of(words.TOPICS),
        "Meeting about the {0}|We sit together on the {0}|Invite for the {0}|Let's talk about the {0}"
        "|The {0} is on the calendar|Planned a session on the {0}|There will be a meeting on the {0}|Call on the {0}",
    ),
    (
        facet(
            "date",
            day(),
            "on {0}|{0}|date {0}|set for {0}|scheduled on {0}",
            "It is on {0}.|The date is {0}.|We meet on {0}.|Scheduled for {0}.",
        ),
        facet(
            "start",
            clock(7, 18),
            "at {0}|from {0}|starting {0}|start {0}|beginning at {0}",
            "It starts at {0}.|Start: {0}.|We begin at {0}.|Be there at {0}.",
        ),
        facet(
            "minutes",
            minutes(),
            "for {0}|{0} long|lasting {0}|{0}|planned for {0}",
            "It takes {0}.|Length: {0}.|We need {0}.|Plan {0} for it.",
        ),
        facet(
            "room",
            one_of(words.ROOMS),
            "in {0}|room: {0}|at {0}|place {0}|over in {0}",
            "We meet in {0}.|The place is {0}.|Room: {0}.|It's held in {0}.",
        ),
        facet(
            "organiser",
            person,
            "organised by {0}|host {0}|led by {0}|called by {0}|chaired by {0}",
            "{0} organises it.|The host is {0}.|Organiser: {0}.|{0} invited us.",
        ),
        facet(
            "attendees",
            count(2, 25),
            "with {0} people|{0} people|{0} attendees|for {0} attendees|{0} of us",
            "We expect {0} people.|Attendees: {0}.|There will be {0} of us.|{0} people said yes.",
        ),
        facet(
            "online",
            states(
                {
                    True: ("online", "by video call", "remote, over video", "as a video meeting"),
                    False: ("in person", "on site", "face to face", "not online"),
                }
            ),
            "{0}|held {0}|this time {0}|we do it {0}",
            "It is {0}.|We meet {0}.|It takes place {0}.|Remember, it's {0}.",
        ),
    ),
)

APPOINTMENT = Kind(
    "appointment",
    lead(
        "patient",
        person,
        "{0} needs to see the doctor|Appointment for {0}|{0} called the practice|Please squeeze in {0}"
        "|Booked {0} into the clinic|{0} is coming to the surgery|A visit for {0}|New patient visit: {0}",
    ),
    (
        facet(
            "doctor",
            one_of(words.LAST_NAMES),
            "with Dr {0}|Dr {0}|to see Dr {0}|doctor: {0}|seen by Dr {0}",
            "The doctor is {0}.|Dr {0} will see them.|Doctor: {0}.|It's with Dr {0}.",
        ),
        facet(
            "date",
            day(),
            "on {0}|{0}|date {0}|for {0}|booked for {0}",
            "It is on {0}.|Date: {0}.|They come on {0}.|The visit is on {0}.",
        ),
        facet(
            "time",
            clock(7, 18),
            "at {0}|{0}|time {0}|coming at {0}|slot {0}",
            "The time is {0}.|Time: {0}.|The slot is {0}.|Please be on time, {0}.",
        ),
        facet(
            "reason",
            one_of(words.SYMPTOMS),
            "for {0}|because of {0}|reason: {0}|about {0}|on account of {0}",
            "The reason is {0}.|It is about {0}.|Reason: {0}.|They come for {0}.",
        ),
        facet(
            "phone",
            code("555-####"),
            "phone {0}|tel. {0}|call back on {0}|number {0}|mobile {0}",
            "The number is {0}.|Phone: {0}.|Call back on {0}.|Reachable on {0}.",
        ),
        facet(
            "first_visit",
            states(
                {
                    True: ("first visit", "never been here", "first time with us", "new at the practice"),
                    False: (
                        "has been here before",
                        "not the first visit",
                        "a returning patient",
                        "known to us already",
                    ),
                }
            ),
            "{0}|{0} by the way|as noted, {0}|{0} it seems",
            "Note: {0}.|According to the file, {0}.|They said: {0}.|On file: {0}.",
        ),
        facet(
            "insurance",
            code("@########"),
            "insurance {0}|insured under {0}|policy {0}|insurance number {0}|insurance no. {0}",
            "The insurance number is {0}.|Insurance: {0}.|Policy number {0}.|Insured as {0}.",
        ),
    ),
)

COURSE = Kind(
    "course",
    lead(
        "subject",
        one_of(words.SUBJECTS),
        "New evening class in {0}|The {0} course is open|Signing up for {0}|There's a workshop on {0}"
        "|We offer lessons in {0}|I found a course on {0}|They teach {0} again|A class in {0} begins soon",
    ),
    (
        facet(
            "teacher",
            person,
            "with {0}|taught by {0}|teacher {0}|given by {0}|run by {0}",
            "{0} teaches it.|The teacher is {0}.|Teacher: {0}.|{0} gives the lessons.",
        ),
        facet(
            "start",
            day(2020, 2030),
            "starting {0}|from {0}|start {0}|beginning {0}|first lesson {0}",
            "It starts on {0}.|The first lesson is on {0}.|Start date: {0}.|We begin on {0}.",
        ),
        facet(
            "weeks",
            count(2, 24),
            "for {0} weeks|{0} weeks|lasting {0} weeks|over {0} weeks|running {0} weeks",
            "It runs for {0} weeks.|Length: {0} weeks.|It lasts {0} weeks.|You go there for {0} weeks.",
        ),
        facet(
            "fee currency",
            money(25, 780, cents=False),
            "for {0}|fee {0}|costing {0}|{0}|at a fee of {0}",
            "The fee is {0}.|It costs {0}.|Fee: {0}.|They charge {0}.",
        ),
        facet(
            "level",
            closed(("beginner", "intermediate", "advanced")),
            "{0} level|level: {0}|{0}|for the {0} level|at {0} level",
            "The level is {0}.|It's {0} level.|Level: {0}.|They call it {0}.",
        ),
        facet(
            "room",
            one_of(words.ROOMS),
            "in {0}|room: {0}|at {0}|place: {0}|held in {0}",
            "It is in {0}.|The room is {0}.|Room: {0}.|Lessons are in {0}.",
        ),
        facet(
            "places",
            count(6, 30),
            "{0} places|{0} places left|for {0} people|with {0} places|up to {0} people",
            "There are {0} places.|Places: {0}.|They take {0} people.|It has room for {0}.",
        ),
    ),
)

PET = Kind(
    "pet",
    lead(
        "name",
        one_of(words.PET_NAMES),
        "{0} was at the vet|We adopted {0}|{0} moved in with us|New at the shelter: {0}|{0} got a check-up"
        "|Registered {0} today|{0} is lost|{0} found a new home",
    ),
    (
        facet(
            "species",
            one_of(words.ANIMALS),
            "a {0}|our {0}|species {0}|the {0}",
            "It's a {0}.|Species: {0}.|The animal is a {0}.|We speak of a {0}.",
        ),
        facet(
            "colour",
            closed(words.COLOURS),
            "{0}|{0} all over|colour {0}|with {0} colouring",
            "The colour is {0}.|Mostly {0}.|Colour: {0}.|It looks {0}.",
        ),
        facet(
            "weight_kg",
            measure(0.2, 48, ("{} kg", "{} kilos", "{}kg")),
            "{0}|weighing {0}|weight {0}|now at {0}",
            "It weighs {0}.|Weight: {0}.|The scale said {0}.|Weight is {0}.",
        ),
        facet(
            "chip",
            code("#########"),
            "chip {0}|chip number {0}|microchip {0}|with chip {0}",
            "The chip number is {0}.|Chip: {0}.|It has the chip {0}.|Microchip {0}.",
        ),
        facet(
            "born",
            day(2010, 2025),
            "born {0}|born on {0}|birth date {0}|b. {0}",
            "Born on {0}.|Date of birth: {0}.|It was born on {0}.|The birth date is {0}.",
        ),
        facet(
            "owner address",
            both(person, address),
            "owner {0}, {1}|belongs to {0}, {1}|owned by {0} of {1}|with {0} at {1}",
            "The owner is {0}, {1}.|Owner: {0} at {1}.|It lives with {0} at {1}.|Bring it to {0}, {1}.",
        ),
        facet(
            "shots",
            number(1, 9),
            "{0} shots|{0} shots so far|shots: {0}|with {0} shots",
            "It had {0} shots.|Shots: {0}.|Number of shots: {0}.|So far {0} shots.",
        ),
    ),
)

KINDS = (PERSON, MEETING, APPOINTMENT, COURSE)
UNSEEN = (PET,)
