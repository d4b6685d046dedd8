"""Free time: books, recipes, concerts, matches, workouts, paintings."""

from cllm_core.tasks.notes import words
from cllm_core.tasks.notes.kinds import Kind, facet, lead
from cllm_core.tasks.notes.values import (
    both,
    city,
    clock,
    closed,
    code,
    count,
    day,
    measure,
    minutes,
    money,
    number,
    one_of,
    person,
    states,
    title,
    whole,
)

BOOK = Kind(
    "book",
    lead(
        "title author",
        both(title, person),
        "Finished reading {0} by {1}|{1} wrote {0}|Picked up {0} by {1}|The library has {0} by {1}"
        "|Recommended: {0}, by {1}|Reading {0} by {1} just now|Bought a copy of {0} by {1}|{0} by {1} is on my shelf",
        "{0} by {1}",
    ),
    (
        facet(
            "year",
            number(1890, 2025),
            "from {0}|published {0}|{0}|published in {0}|out since {0}",
            "It came out in {0}.|Published in {0}.|Year: {0}.|The year is {0}.",
        ),
        facet(
            "pages",
            number(90, 980),
            "{0} pages|{0} pages long|with {0} pages|pages: {0}|running to {0} pages",
            "It has {0} pages.|Pages: {0}.|It is {0} pages long.|I counted {0} pages.",
        ),
        facet(
            "publisher",
            one_of(words.COMPANIES),
            "publisher {0}|published by {0}|from {0}|by way of {0}|printed by {0}",
            "The publisher is {0}.|{0} published it.|Publisher: {0}.|It was brought out by {0}.",
        ),
        facet(
            "isbn",
            code("978-#-##-######"),
            "ISBN {0}|isbn no. {0}|number {0}|listed as {0}|under ISBN {0}",
            "The ISBN is {0}.|ISBN: {0}.|Its number is {0}.|Look it up by {0}.",
        ),
        facet(
            "rating",
            whole((1, 2, 3, 4, 5)),
            "{0} stars|rated {0} out of 5|{0}/5|rating {0}|{0} out of five",
            "I give it {0} stars.|Rating: {0}.|My rating is {0}.|It earns {0} stars.",
        ),
        facet(
            "genre",
            closed(("novel", "thriller", "biography", "fantasy", "history", "poetry", "travel", "memoir")),
            "a {0}|genre {0}|{0}|shelved under {0}|filed as {0}",
            "It's a {0}.|The genre is {0}.|Genre: {0}.|They call it {0}.",
        ),
        facet(
            "language",
            closed(("English", "German", "French", "Spanish", "Polish", "Italian", "Dutch", "Swedish")),
            "in {0}|the {0} edition|language {0}|written in {0}|{0} text",
            "It is in {0}.|The language is {0}.|Language: {0}.|I read it in {0}.",
        ),
    ),
)

RECIPE = Kind(
    "recipe",
    lead(
        "dish",
        one_of(words.DISHES),
        "Grandma's recipe for {0}|How I make {0}|We cooked {0}|Tried a new {0}|Tonight there is {0}"
        "|Wrote down the {0}|A good way to make {0}|My notes on {0}",
    ),
    (
        facet(
            "servings",
            count(1, 12),
            "serves {0}|for {0} people|{0} servings|enough for {0}|feeding {0}",
            "It serves {0}.|Makes {0} servings.|Servings: {0}.|Enough for {0} people.",
        ),
        facet(
            "minutes",
            minutes(),
            "{0}|takes {0}|ready in {0}|in {0}|done within {0}",
            "It takes {0}.|You need {0}.|Time: {0}.|Allow {0}.",
        ),
        facet(
            "oven_c",
            whole((150, 160, 165, 170, 175, 180, 190, 195, 200, 210, 220)),
            "oven at {0} C|at {0} degrees|baked at {0} C|{0} C|with the oven at {0}",
            "Set the oven to {0} C.|Bake at {0} degrees.|Oven: {0} C.|The oven needs {0} degrees.",
        ),
        facet(
            "main_ingredient grams",
            both(one_of(words.INGREDIENTS), whole((80, 100, 120, 150, 200, 250, 300, 350, 400, 450, 500, 600, 750))),
            "with {1} g of {0}|{1} grams of {0}|{0} ({1} g)|{1} g {0}|using {1} g of {0}",
            "You need {1} g of {0}.|Take {1} grams of {0}.|Main thing: {1} g {0}.|It uses {1} g of {0}.",
        ),
        facet(
            "difficulty",
            closed(("easy", "medium", "hard")),
            "{0}|difficulty {0}|{0} to make|rated {0}|{0} for most",
            "It is {0}.|Difficulty: {0}.|I find it {0}.|Level: {0}.",
        ),
        facet(
            "vegetarian",
            states(
                {
                    True: ("vegetarian", "without meat", "no meat in it", "good for vegetarians"),
                    False: ("not vegetarian", "has meat in it", "with meat", "not for vegetarians"),
                }
            ),
            "{0}|{0} of course|mind you, {0}|and {0}",
            "It's {0}.|Note: {0}.|For guests: {0}.|Remember: {0}.",
        ),
        facet(
            "author",
            person,
            "from {0}|by {0}|thanks to {0}|recipe by {0}|as {0} does it",
            "I have it from {0}.|The recipe is by {0}.|Author: {0}.|{0} gave it to me.",
        ),
    ),
)

CONCERT = Kind(
    "concert",
    lead(
        "artist",
        one_of(words.BANDS),
        "{0} is playing live|Tickets for {0}|We are going to see {0}|{0} announced a show|Concert by {0}"
        "|Don't miss {0}|{0} will be on stage|A gig by {0} is coming up",
    ),
    (
        facet(
            "venue city",
            both(one_of(words.VENUES), city),
            "at {0}, {1}|at {0} in {1}|venue {0}, {1}|{0}, {1}|on stage at {0} in {1}",
            "The venue is {0} in {1}.|It's at {0}, {1}.|Venue: {0}, {1}.|They play {0} in {1}.",
        ),
        facet(
            "date",
            day(2020, 2030),
            "on {0}|{0}|date {0}|show on {0}|taking place {0}",
            "The show is on {0}.|Date: {0}.|It is on {0}.|They play on {0}.",
        ),
        facet(
            "doors",
            clock(16, 21),
            "doors {0}|doors open at {0}|doors at {0}|entry from {0}|opening at {0}",
            "Doors open at {0}.|Doors: {0}.|You can get in from {0}.|Entry is from {0}.",
        ),
        facet(
            "price currency",
            money(12, 140),
            "{0} a ticket|tickets {0}|for {0}|price {0}|{0} each",
            "A ticket is {0}.|Tickets cost {0}.|Price: {0}.|They charge {0}.",
        ),
        facet(
            "tickets",
            count(1, 8),
            "{0} tickets|got {0} tickets|tickets: {0}|bought {0} tickets|{0} tickets for us",
            "We have {0} tickets.|Number of tickets: {0}.|I bought {0} tickets.|There are {0} tickets for us.",
        ),
        facet(
            "row",
            code("@#"),
            "row {0}|in row {0}|seats in {0}|row no. {0}|sitting in row {0}",
            "The row is {0}.|We sit in row {0}.|Row: {0}.|Our row is {0}.",
        ),
        facet(
            "sold_out",
            states(
                {
                    True: ("sold out", "all tickets gone", "no tickets left", "completely booked"),
                    False: ("not sold out", "tickets still available", "some tickets left", "still on sale"),
                }
            ),
            "{0}|{0} already|{0} I hear|as of today {0}",
            "News: {0}.|Right now: {0}.|The box office says {0}.|Status: {0}.",
        ),
    ),
)

MATCH = Kind(
    "match",
    lead(
        "home away",
        both(one_of(words.TEAMS), one_of(words.TEAMS)),
        "{0} played {1}|{0} against {1}|Watched {0} v {1}|{0} hosted {1}|Match report: {0} - {1}"
        "|{0} met {1}|{0} took on {1}|{1} travelled to {0}",
        "{0} v {1}",
    ),
    (
        facet(
            "home_goals away_goals",
            both(whole(tuple(range(9))), whole(tuple(range(9)))),
            "{0}-{1}|final score {0}:{1}|it ended {0}-{1}|result {0}:{1}|with a {0}-{1} score",
            "It ended {0}-{1}.|The score was {0}:{1}.|Result: {0}-{1}.|Final score {0}-{1}.",
        ),
        facet(
            "date",
            day(),
            "on {0}|{0}|date {0}|played {0}|match day {0}",
            "It was on {0}.|Date: {0}.|They played on {0}.|Match day was {0}.",
        ),
        facet(
            "venue",
            one_of(words.VENUES),
            "at {0}|venue {0}|in the {0}|played at {0}|ground: {0}",
            "The venue was {0}.|Played at {0}.|Venue: {0}.|They met at {0}.",
        ),
        facet(
            "spectators",
            count(150, 48000, 10),
            "{0} spectators|before {0} fans|attendance {0}|{0} people watching|a crowd of {0}",
            "There were {0} spectators.|Attendance: {0}.|{0} people came.|The crowd was {0}.",
        ),
        facet(
            "sport",
            closed(words.SPORTS),
            "{0}|in {0}|a {0} match|sport: {0}|{0} league",
            "It was {0}.|The sport is {0}.|Sport: {0}.|They played {0}.",
        ),
        facet(
            "referee",
            person,
            "referee {0}|refereed by {0}|{0} refereeing|with {0} as referee|whistled by {0}",
            "The referee was {0}.|{0} was the referee.|Referee: {0}.|{0} had the whistle.",
        ),
        facet(
            "kick_off",
            clock(11, 21),
            "at {0}|start {0}|kick-off {0}|from {0}|starting at {0}",
            "It started at {0}.|Start was {0}.|Kick-off: {0}.|They began at {0}.",
        ),
    ),
)

WORKOUT = Kind(
    "workout",
    lead(
        "activity",
        one_of(words.SPORT_SESSIONS),
        "Did a {0}|Training log: {0}|My {0} went well|Went for a {0}|Another {0} done|Logged one {0}"
        "|Felt good on the {0}|The {0} was tough",
    ),
    (
        facet(
            "distance_km",
            measure(1.5, 64, ("{} km", "{}km", "{} kilometres")),
            "{0}|over {0}|distance {0}|covering {0}",
            "It was {0}.|Distance: {0}.|I covered {0}.|The distance was {0}.",
        ),
        facet(
            "minutes",
            minutes(),
            "in {0}|{0}|taking {0}|time {0}",
            "It took {0}.|Time: {0}.|I was out for {0}.|Duration: {0}.",
        ),
        facet(
            "calories",
            count(120, 1400),
            "{0} calories|burning {0} calories|{0} kcal|calories: {0}",
            "I burned {0} calories.|Calories: {0}.|That's {0} kcal.|The watch says {0} calories.",
        ),
        facet(
            "heart_rate",
            number(95, 178),
            "heart rate {0}|average pulse {0}|pulse {0}|at {0} beats",
            "My heart rate was {0}.|Average pulse: {0}.|Heart rate: {0}.|Pulse around {0}.",
        ),
        facet(
            "date",
            day(),
            "on {0}|{0}|date {0}|done on {0}",
            "That was on {0}.|Date: {0}.|It was on {0}.|Day: {0}.",
        ),
        facet(
            "partner",
            person,
            "with {0}|together with {0}|partner {0}|alongside {0}",
            "{0} came along.|I went with {0}.|Partner: {0}.|{0} kept me company.",
        ),
    ),
)

PAINTING = Kind(
    "painting",
    lead(
        "title artist",
        both(title, person),
        "{0} by {1} hangs in the hall|The gallery shows {0} by {1}|On loan: {0} by {1}|{1} painted {0}"
        "|We were offered {0} by {1}|Insured {0} by {1}|Catalogue: {0}, {1}|Moved {0} by {1} to the store",
        "{0}, {1}",
    ),
    (
        facet(
            "year",
            number(1690, 2015),
            "from {0}|painted {0}|{0}|dated {0}",
            "It was painted in {0}.|Year: {0}.|It dates from {0}.|The year is {0}.",
        ),
        facet(
            "width_cm height_cm",
            both(number(20, 340), number(20, 340)),
            "{0} x {1} cm|measuring {0} by {1} cm|size {0} x {1} cm|{0} cm wide and {1} cm high",
            "It measures {0} x {1} cm.|Size: {0} by {1} cm.|It is {0} cm wide and {1} cm high.|Format: {0} x {1} cm.",
        ),
        facet(
            "value currency",
            money(800, 9500, cents=False),
            "worth {0}|valued at {0}|value {0}|insured for {0}",
            "It is worth {0}.|The value is {0}.|Value: {0}.|Experts say {0}.",
        ),
        facet(
            "room",
            one_of(words.ROOMS),
            "in {0}|room: {0}|on show in {0}|kept in {0}",
            "It hangs in {0}.|Room: {0}.|You find it in {0}.|It is kept in {0}.",
        ),
        facet(
            "signed",
            states(
                {
                    True: ("signed", "signed by the artist", "with a signature", "bearing a signature"),
                    False: ("unsigned", "not signed", "without a signature", "no signature anywhere"),
                }
            ),
            "{0}|{0} we think|{0} on inspection|clearly {0}",
            "It is {0}.|The back is {0}.|As we see it, {0}.|Note: {0}.",
        ),
    ),
)

KINDS = (BOOK, RECIPE, CONCERT, MATCH)
UNSEEN = (WORKOUT, PAINTING)
