"""Word lists that the generated values are drawn from."""


def _list(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.replace("\n", " ").split(","))


FIRST_NAMES = _list("""
Anna, Tomás, Priya, Jonas, Mei, Omar, Clara, Felix, Ingrid, Rahul, Sofia, Lukas, Amina, Pieter, Yuki, Hannah, Diego,
Elena, Marcus, Nadia, Oliver, Zoe, Kofi, Lena, Mateo, Greta, Samir, Julia, Erik, Rosa, Viktor, Aisha, Paul, Ivana,
Hugo, Keiko, Daniel, Fatima, Martin, Chloe, Stefan, Leila, Andrei, Beatriz, Noah, Simone, Arjun, Freya, Carlos, Miriam,
Henrik, Olga, Ben, Tara, Emil, Paula, Jack, Sana, Theo, Valentina, Adam, Ruth, Ivo, Camille, Ravi, Edith, Leon, Maya,
George, Linnea, Abel, Nora, Igor, Helen, Tariq, Alice, Bruno, Wen, Dario, Astrid
""")
LAST_NAMES = _list("""
Kessler, Okafor, Lindqvist, Moreau, Tanaka, Silva, Novak, Haddad, Brennan, Fischer, Rossi, Iyer, Kowalski, Jensen,
Alvarez, Petrov, Nguyen, Walsh, Schmidt, Osei, Larsen, Dubois, Marino, Khan, Virtanen, Costa, Weber, Takeda, Horvat,
Quinn, Banerjee, Van Dijk, Ortega, Svensson, Morales, Bauer, Chen, Fraser, Popescu, Hughes, Ferreira, Nilsen, Wagner,
Mensah, Ruiz, Keller, Park, Romano, Adler, Byrne, Castillo, Demir, Eriksen, Fontaine, Gupta, Hoffman, Ibrahim, Jansen,
Kimura, Lopez, Mertens, Nowak, Olsen, Pereira, Richter, Sato, Torres, Urban, Vogel, Whitaker, Yilmaz, Zeman, Ashworth,
Bianchi, Carver, Dalton, Emerson, Farrell, Garnier, Holloway
""")
CITIES = _list("""
Oslo, Madrid, Vienna, Lisbon, Nairobi, Kyoto, Toronto, Zurich, Dublin, Prague, Athens, Lagos, Helsinki, Montreal,
Krakow, Seville, Hamburg, Porto, Boston, Denver, Bergen, Cairo, Geneva, Istanbul, Jakarta, Leeds, Lyon, Manila, Milan,
Mumbai, Naples, Osaka, Ottawa, Perth, Quito, Riga, Rome, Seoul, Sofia, Tallinn, Tbilisi, Turin, Utrecht, Vilnius,
Warsaw, York, Antwerp, Basel, Bristol, Cape Town, Chicago, Cologne, Delhi, Edinburgh, Florence, Ghent, Glasgow, Graz,
Hanoi, Houston, Lima, Malmo, Marseille, Nantes, Salzburg, Santiago, Seattle, Sydney, Tokyo, Valencia
""")
STREETS = _list("""
Mill Lane, Harbour Street, Elm Road, Station Road, Market Square, Church Street, Park Avenue, Rose Street, Canal Street,
Garden Row, High Street, King's Road, Bridge Street, Oak Drive, Queen Street, Castle Hill, Forest Way, Lake View,
North Gate, Orchard Close, Pine Avenue, River Walk, School Lane, Tower Hill, Union Street, Victoria Road, Willow Way,
Abbey Road, Baker Street, Cedar Court
""")
COMPANIES = _list("""
Northwind Foods, Blue Harbor Media, Kestrel Labs, Halden Bank, Orion Textiles, Greenleaf Energy, Summit Logistics,
Pixel Foundry, Redwood Clinics, Arcadia Press, Bright Path Schools, Copper Ridge Mining, Delta Marine, Evergreen Hotels,
Falcon Motors, Granite Works, Horizon Travel, Ivory Dental, Juniper Software, Kappa Systems, Lumen Lighting,
Meridian Law, Nimbus Cloud, Oak and Iron, Pinnacle Sports, Quarry Stone, Riverside Dairy, Silver Birch Design,
Tidewater Shipping, Umbra Security, Vertex Robotics, Westfield Farms, Xenith Audio, Yellow Door Books, Zephyr Airlines,
Atlas Furniture, Beacon Insurance, Cobalt Games, Dune Analytics, Ember Coffee
""")
GOODS = _list("""
desk lamp, wool blanket, coffee grinder, garden hose, steel kettle, running shoes, leather wallet, rain jacket,
water bottle, phone case, cast iron pan, yoga mat, desk chair, bath towel, paint roller, bike helmet, wall clock,
picture frame, travel mug, chess set, backpack, headset, keyboard, monitor stand, rice cooker, tool box, tent pole,
sleeping bag, hand mixer, bread knife, tea pot, door mat, floor lamp, cushion cover, notebook, fountain pen,
rain umbrella, toaster, vacuum filter, camera strap, cutting board, salad bowl, wine rack, mirror, bookend,
candle holder, drill bit, power strip, laundry rack, laundry basket
""")
MONTHS = _list("""
January, February, March, April, May, June, July, August, September, October, November, December
""")
NUMBERS = _list("zero, one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve")
COLOURS = _list("red, navy, green, black, white, grey, yellow, orange, purple, teal, beige, brown, silver, pink, blue")
ADJECTIVES = _list("""
Silent, Broken, Golden, Last, Hidden, Northern, Empty, Crimson, Distant, Burning, Paper, Winter, Hollow, Second, Iron,
Secret, Wandering, Blue, Forgotten, Quiet, Glass, Long, Salt, Velvet, Restless
""")
NOUNS = _list("""
Garden, River, Lighthouse, Orchard, Mirror, Harbour, Crown, Letter, Mountain, Clock, Bridge, Island, Winter, Shadow,
Station, Map, Voyage, Forest, Kingdom, Door, Library, Summer, Storm, Road, Portrait
""")
DISHES = _list("""
lentil soup, apple crumble, mushroom risotto, chicken curry, lemon cake, onion tart, beef stew, pumpkin soup,
fish pie, vegetable lasagne, banana bread, potato salad, tomato soup, rice pudding, shakshuka, goulash, paella,
spinach quiche, carrot cake, bean chili, noodle salad, fried rice, plum dumplings, stuffed peppers, ginger biscuits,
cheese souffle, lamb tagine, pea soup, fruit salad, walnut loaf
""")
INGREDIENTS = _list("""
lentils, apples, mushrooms, chicken, lemons, onions, beef, pumpkin, salmon, spinach, bananas, potatoes, tomatoes, rice,
eggs, paprika, prawns, carrots, beans, noodles, plums, peppers, ginger, cheddar, lamb, peas, walnuts, chickpeas
""")
ROOMS = _list("""
Blue Room, Room 12, Room 204, the library, Hall B, Room 3, the boardroom, Studio 2, the canteen, Room 415, Hall C,
the annex, Room 7, Meeting Room 5, the lab, Room 118, the attic office, Studio 4, Room 21, the east wing, Garden Room,
Room 309, the workshop, Hall A, Room 66, the lounge, Red Room, Room 150
""")
TOPICS = _list("""
budget review, website launch, hiring plan, safety training, product roadmap, quarterly results, office move,
supplier contract, design critique, customer survey, data migration, holiday schedule, sales targets, brand refresh,
security audit, team retrospective, grant proposal, marketing plan, warehouse layout, pricing change, press release,
exam results, server upgrade, travel policy, recycling scheme, onboarding, insurance claims, summer festival
""")
JOBS = _list("""
nurse, data analyst, electrician, teacher, graphic designer, accountant, chef, translator, carpenter, bus driver,
web developer, pharmacist, receptionist, plumber, editor, lab technician, gardener, sales manager, architect, baker,
librarian, mechanic, dentist, photographer, project manager, tailor, welder, social worker, surveyor, florist
""")
SUBJECTS = _list("""
Spanish, pottery, statistics, first aid, watercolour painting, chess, Python programming, creative writing, yoga,
bookkeeping, guitar, Japanese, photography, gardening, public speaking, bread baking, swimming, astronomy, sewing,
welding, Arabic, film history, jazz piano, beekeeping, German, economics, drawing, woodwork
""")
BANDS = _list("""
The Paper Kites, Northern Lights Quartet, Velvet Static, Marble Arch Choir, Low Tide, The Brass Foxes, Echo Garden,
Ivory Keys Trio, Midnight Tram, Sunday Harbour, Copper Strings, The Lost Postmen, Glass Parade, River Delta Band,
Wild Clover, Tin Roof Jazz, The Evening Post, Saffron Road, Hollow Pines, City Chamber Players, Amber Wolves,
Second Floor, The Night Bakers, Slow Comets
""")
VENUES = _list("""
Town Hall, Grand Theatre, Riverside Arena, Old Brewery, Union Club, Opera House, Harbour Stage, Corn Exchange,
Park Pavilion, St Mary's Church, Jazz Cellar, City Stadium, Music Barn, Lakeside Stage, Palace Theatre, Factory Floor,
Botanic Gardens, Students' Union, Castle Yard, Winter Gardens
""")
HOTELS = _list("""
Hotel Aurora, Grand Meridian, Seaview Inn, Hotel Continental, The Old Mill, Park Lodge, Hotel Bristol, Alpine Rest,
Harbour House, Hotel Lindner, City Garden Hotel, The Blue Anchor, Villa Rosa, Hotel Excelsior, Lakeside Manor,
Station Hotel, Hotel Miramar, Pine Tree Lodge, The Royal Oak, Casa Verde, Hotel Zenith, Fox and Hound Inn
""")
CARS = _list("""
Toyota Corolla, Ford Focus, Skoda Octavia, Honda Civic, Volvo V60, Fiat Panda, Kia Ceed, Mazda 3, Renault Clio,
Opel Astra, Nissan Leaf, Hyundai i20, Seat Ibiza, Peugeot 208, Dacia Duster, Audi A4, Subaru Forester, Mini Cooper,
Volkswagen Golf, Citroen C3, Suzuki Swift, Tesla Model 3
""")
TEAMS = _list("""
Rovers, Northern Stars, Harbour United, Falcons, Red Lions, City Athletic, Wanderers, Blue Devils, Riverside FC,
Thunder, Eagles, Hill Rangers, Sharks, Old Boys, Dynamos, Valley Tigers, Comets, Iron Bears, Lakers, Park Street,
Royals, Panthers
""")
SPORTS = _list("football, handball, hockey, basketball, rugby, volleyball, water polo, cricket, futsal, netball")
ANIMALS = _list("cat, dog, rabbit, parrot, hamster, tortoise, guinea pig, canary, ferret, pony, gecko, goat")
PET_NAMES = _list("""
Biscuit, Luna, Max, Pepper, Coco, Shadow, Milo, Daisy, Rusty, Olive, Ziggy, Nala, Oscar, Poppy, Bruno, Hazel, Tango,
Willow, Gizmo, Maple
""")
SYMPTOMS = _list("""
a sore throat, back pain, a skin rash, headaches, a check-up, a flu shot, knee pain, an ear infection, a blood test,
allergies, a sprained ankle, poor sleep, a cough, dizziness, an eye exam, stomach cramps, a vaccination, a fever
""")
DEVICES = _list("""
washing machine, laptop, dishwasher, coffee machine, bicycle, boiler, phone, printer, sewing machine, lawn mower,
television, gas oven, tablet, record player, fridge, kick scooter, projector, tumble dryer
""")
FAULTS = _list("""
leaking pump, cracked screen, broken belt, worn brake pads, blown fuse, dead battery, loose hinge, blocked filter,
faulty switch, bent wheel, noisy fan, stuck lid, burnt cable, missing screw, damaged plug, flat tyre
""")
SPORT_SESSIONS = _list("""
trail run, swim, spin class, rowing, sprint session, long walk, hill ride, tempo run, kayaking, cross-country ski,
slow jog, bike ride, hike, track session
""")
ASIDES = _list("""
Remember to water the plants., Ask Tom about the keys., The weather was awful., Sorry for the late note.,
More details to follow., Not urgent., Please file this., I will call back on Monday., The printer is jammed again.,
Lunch was good., Copy to the whole team., See my earlier mail., Still waiting for the other form., Thanks!,
Hope this is readable., Typed on my phone., Nothing else to report., Let me know if that's wrong., The coffee is gone.,
Back in the office tomorrow., Someone left the window open., Keep this with the other papers., Busy day., No rush.,
I wrote this down in a hurry., Maria has the folder., The line was bad., They were very friendly., To be confirmed?,
Double-check with Sam., Good news at last., We talked for an hour., Please reply by mail., It rained all day.,
Usual place., As discussed., Call me with questions., My pen is running out., Same as last year I think.
""")
