"""Journeys and what goes with them: flights, hotels, parcels, cars, flats."""

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
    made,
    measure,
    money,
    number,
    one_of,
    person,
    states,
    whole,
)

FLIGHT = Kind(
    "flight",
    lead(
        "passenger",
        person,
        "{0} is booked on a flight|Ticket for {0} issued|Flight booked for {0}|{0} is flying out"
        "|I got {0} a plane ticket|New flight reservation, passenger {0}|{0} will travel by plane"
        "|{0} has a seat on the plane",
    ),
    (
        facet(
            "flight",
            code("@@ ####"),
            "flight {0}|on {0}|flight no. {0}|flight number {0}|travelling on {0}",
            "The flight is {0}.|It's flight {0}.|Flight number: {0}.|They fly on {0}.",
        ),
        facet(
            "from to",
            both(city, city),
            "from {0} to {1}|{0} to {1}|leaving {0} for {1}|{0} - {1}|out of {0} and into {1}",
            "The route is {0} to {1}.|It goes from {0} to {1}.|Departs {0}, lands in {1}.|From {0} on to {1}.",
        ),
        facet(
            "date",
            day(),
            "on {0}|departing {0}|date {0}|leaving on {0}|travel date {0}",
            "Departure is on {0}.|The date is {0}.|They leave on {0}.|Day of travel: {0}.",
        ),
        facet(
            "time",
            clock(),
            "at {0}|departure {0}|leaving at {0}|take-off at {0}|off at {0}",
            "It leaves at {0}.|Take-off is at {0}.|Departure time {0}.|The plane goes at {0}.",
        ),
        facet(
            "seat",
            made(lambda rng: f"{rng.randint(1, 42)}{rng.choice('ABCDEFHJK')}"),
            "seat {0}|in seat {0}|sitting in {0}|seat no. {0}|place {0}",
            "The seat is {0}.|Seat {0} is reserved.|Assigned seat: {0}.|We picked seat {0}.",
        ),
        facet(
            "price currency",
            money(60, 950),
            "for {0}|paid {0}|fare {0}|{0} in total|which cost {0}",
            "The fare was {0}.|It cost {0}.|We paid {0}.|Price of the ticket: {0}.",
        ),
        facet(
            "bags",
            count(1, 5),
            "with {0} bags|checking {0} bags|{0} bags|bags: {0}|bringing {0} bags",
            "Bags to check: {0}.|There are {0} bags.|Luggage: {0} bags.|Number of bags is {0}.",
        ),
    ),
)

HOTEL = Kind(
    "hotel",
    lead(
        "guest hotel",
        both(person, one_of(words.HOTELS)),
        "{0} is staying at {1}|Room at {1} reserved for {0}|Booked {1} for {0}|{0} has a reservation at {1}"
        "|Hotel booking: {0}, {1}|We put {0} up at {1}|{0} will be checking in at {1}|At {1} a room is kept for {0}",
        "{0}, {1}",
    ),
    (
        facet(
            "arrival",
            day(),
            "arriving {0}|from {0}|check-in {0}|arrival on {0}|coming on {0}",
            "Check-in is on {0}.|Arrival date: {0}.|The stay starts on {0}.|They arrive on {0}.",
        ),
        facet(
            "nights",
            count(1, 14),
            "for {0} nights|{0} nights|staying {0} nights|nights: {0}|a stay of {0} nights",
            "They stay {0} nights.|Number of nights: {0}.|It's for {0} nights.|Nights booked: {0}.",
        ),
        facet(
            "room",
            number(101, 799),
            "room {0}|in room {0}|room number {0}|room no. {0}|given room {0}",
            "The room is {0}.|Room number {0}.|They get room {0}.|Their room will be {0}.",
        ),
        facet(
            "city",
            city,
            "in {0}|{0}|city: {0}|over in {0}|the one in {0}",
            "The hotel is in {0}.|City: {0}.|That's in {0}.|Located in {0}.",
        ),
        facet(
            "rate currency",
            money(45, 380),
            "at {0} a night|{0} per night|rate {0}|nightly rate {0}|{0} each night",
            "The rate is {0} per night.|A night costs {0}.|Room rate: {0}.|They charge {0} a night.",
        ),
        facet(
            "breakfast",
            states(
                {
                    True: ("with breakfast", "breakfast included", "including breakfast", "breakfast is in the price"),
                    False: ("without breakfast", "breakfast not included", "no breakfast", "breakfast costs extra"),
                }
            ),
            "{0}|and {0}|{0} this time|that means {0}",
            "Meals: {0}.|As agreed, {0}.|Note: {0}.|To be clear, {0}.",
        ),
    ),
)

PARCEL = Kind(
    "parcel",
    lead(
        "recipient",
        person,
        "A parcel for {0} came in|Parcel to {0} handed over|Shipping a box to {0}|Sent a package to {0}"
        "|There is a delivery for {0}|Package addressed to {0}|We have a box going to {0}|Got a packet to send to {0}",
    ),
    (
        facet(
            "tracking",
            code("@@######"),
            "tracking {0}|tracking number {0}|track it with {0}|no. {0}|tracking code {0}",
            "The tracking number is {0}.|Tracking: {0}.|You can follow it as {0}.|Its tracking code is {0}.",
        ),
        facet(
            "address city",
            both(address, city),
            "to {0}, {1}|going to {0} in {1}|address {0}, {1}|{0}, {1}|for delivery at {0} in {1}",
            "The address is {0}, {1}.|Deliver to {0} in {1}.|It goes to {0}, {1}.|Drop it at {0} in {1}.",
        ),
        facet(
            "weight_kg",
            measure(0.3, 28, ("{} kg", "{} kilos", "{}kg")),
            "weighing {0}|{0}|weight {0}|at {0}|which weighs {0}",
            "It weighs {0}.|The weight is {0}.|On the scale: {0}.|Weight: {0}.",
        ),
        facet(
            "shipped",
            day(),
            "shipped {0}|sent on {0}|posted {0}|dispatched on {0}|handed in on {0}",
            "It was shipped on {0}.|Sent out {0}.|We posted it on {0}.|Shipping date: {0}.",
        ),
        facet(
            "express",
            states(
                {
                    True: ("by express", "as an express parcel", "with express delivery", "on the express service"),
                    False: ("by standard mail", "at the normal speed", "not express", "with ordinary delivery"),
                }
            ),
            "{0}|going {0}|sent {0}|to go {0}",
            "It goes {0}.|Delivery is {0}.|They want it sent {0}.|It travels {0}.",
        ),
        facet(
            "contents",
            one_of(words.GOODS),
            "containing a {0}|with a {0} inside|contents: {0}|holding a {0}|a {0}",
            "Inside is a {0}.|It contains a {0}.|Contents: {0}.|There's a {0} in it.",
        ),
    ),
)

CAR = Kind(
    "car",
    lead(
        "model",
        one_of(words.CARS),
        "Used {0} for sale|We have a {0} on the lot|Listed a {0} today|A customer brought in a {0}"
        "|Saw an advert for a {0}|Car on offer: {0}|Somebody is selling a {0}|The car is a {0}",
    ),
    (
        facet(
            "year",
            number(1998, 2025),
            "built in {0}|from {0}|year {0}|made in {0}|a {0} model",
            "It is from {0}.|Year of make: {0}.|Built in {0}.|First registered in {0}.",
        ),
        facet(
            "mileage_km",
            count(8000, 240000, 500),
            "{0} km|with {0} km on it|{0} km driven|mileage {0} km|having done {0} km",
            "It has done {0} km.|Mileage: {0} km.|The odometer shows {0} km.|So far it ran {0} km.",
        ),
        facet(
            "colour",
            closed(words.COLOURS),
            "in {0}|{0}|colour {0}|painted {0}|{0} paint",
            "The colour is {0}.|It's {0}.|Colour: {0}.|It comes in {0}.",
        ),
        facet(
            "price currency",
            money(900, 32000, cents=False),
            "for {0}|asking {0}|price {0}|at {0}|yours for {0}",
            "They ask {0}.|The price is {0}.|Price: {0}.|They want {0} for it.",
        ),
        facet(
            "plate",
            code("@@-###-@"),
            "plate {0}|registration {0}|number plate {0}|licence plate {0}|reg. {0}",
            "The plate is {0}.|Registration: {0}.|Number plate: {0}.|It carries the plate {0}.",
        ),
        facet(
            "fuel",
            closed(("petrol", "diesel", "electric", "hybrid")),
            "{0}|fuel: {0}|{0} engine|a {0} one|running on {0}",
            "Fuel type is {0}.|The engine is {0}.|It's {0}.|As for fuel, {0}.",
        ),
        facet(
            "doors",
            whole((3, 5)),
            "{0} doors|with {0} doors|{0}-door|doors: {0}|a {0}-door car",
            "It has {0} doors.|Doors: {0}.|Number of doors: {0}.|There are {0} doors.",
        ),
    ),
)

FLAT = Kind(
    "flat",
    lead(
        "address",
        address,
        "Flat to let at {0}|Viewed the apartment at {0}|New listing: flat at {0}"
        "|There is a flat free at {0}|Apartment available, {0}|The place at {0} is for rent"
        "|A flat at {0} came on the market|They let a home at {0}",
    ),
    (
        facet(
            "city",
            city,
            "in {0}|{0}|city {0}|right in {0}|located in {0}",
            "That's in {0}.|The city is {0}.|City: {0}.|You'd be living in {0}.",
        ),
        facet(
            "rooms",
            count(1, 7),
            "{0} rooms|with {0} rooms|rooms: {0}|having {0} rooms|{0} rooms in all",
            "It has {0} rooms.|Rooms: {0}.|There are {0} rooms.|You get {0} rooms.",
        ),
        facet(
            "area_m2",
            measure(24, 190, ("{} m2", "{} sqm", "{} square metres"), digits=0),
            "{0}|of {0}|size {0}|covering {0}|measuring {0}",
            "The area is {0}.|It has {0}.|Size: {0}.|It measures {0}.",
        ),
        facet(
            "rent currency",
            money(380, 2600, cents=False),
            "rent {0}|for {0} a month|{0} monthly|at {0} per month|{0} each month",
            "The rent is {0}.|They ask {0} a month.|Monthly rent: {0}.|It costs {0} per month.",
        ),
        facet(
            "floor",
            count(1, 9),
            "floor {0}|on floor {0}|up on floor {0}|floor no. {0}|level {0}",
            "It's on floor {0}.|Floor: {0}.|You find it on floor {0}.|The flat is on level {0}.",
        ),
        facet(
            "available",
            day(2022, 2030),
            "free from {0}|available {0}|available from {0}|vacant as of {0}|move in on {0}",
            "It is available from {0}.|You can move in on {0}.|Free as of {0}.|It becomes vacant on {0}.",
        ),
        facet(
            "pets",
            states(
                {
                    True: ("pets allowed", "pets are welcome", "pets are fine", "you may keep pets"),
                    False: ("no pets", "pets not allowed", "pets are forbidden", "you may not keep pets"),
                }
            ),
            "{0}|{0} there|and {0}|they say {0}",
            "House rule: {0}.|The owner says {0}.|By the contract, {0}.|I asked, and {0}.",
        ),
    ),
)

KINDS = (FLIGHT, HOTEL, PARCEL, CAR, FLAT)
