"""Words that the split `wide` puts in the place of the lists' words: many, so that a model learns to copy and not to
recall. None of them occurs in the lists that the other splits draw from (a test says so)."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words("""
Aberdeen Accra Adelaide Alaska Albany Aleppo Algiers Alicante Almaty Amman Amsterdam Anchorage Ankara Arizona
Asheville Ashgabat Atlanta Auckland Austin Baghdad Baku Baltimore Bamako Bangkok Barcelona Barnaul Bayreuth Beirut
Belfast Belgrade Berlin Bilbao Birmingham Bogota Bologna Bombay Bonn Bordeaux Bradford Brasilia Bratislava Bremen
Brighton Brisbane Brussels Bucharest Budapest Buffalo Burgos Calgary California Cambridge Canberra Cardiff Carlisle
Catania Chester Christchurch Cincinnati Cleveland Colombo Columbus Copenhagen Corfu Cork Coventry Cordoba Dakar Dallas
Damascus Dayton Delft Detroit Dhaka Doha Dortmund Dresden Dubai Dubrovnik Dundee Durban Durham Dusseldorf Eindhoven
Essen Exeter Fargo Frankfurt Freiburg Fresno Galway Gdansk Genoa Gothenburg Granada Grenoble Groningen Guadalajara
Hague Halifax Hannover Harare Havana Heidelberg Honolulu Hull Innsbruck Inverness Ipswich Islamabad Izmir Jaipur
Jerusalem Kampala Karachi Kassel Kathmandu Kansas Kiel Kingston Kuwait Lahore Lancaster Lausanne Leicester Leipzig
Lille Limerick Lincoln Liverpool Ljubljana Lodz London Lucerne Luxembourg Lviv Madison Mainz Malaga Manchester
Mannheim Maputo Medellin Melbourne Memphis Mexico Miami Michigan Minsk Modena Monaco Moscow Munich Murcia Nagoya
Nashville Nebraska Newcastle Nicosia Norwich Nottingham Odessa Oklahoma Omaha Ontario Oregon Orlando Oxford Padua
Palermo Paris Parma Pisa Phoenix Pittsburgh Plymouth Portland Portsmouth Potsdam Poznan Preston Pretoria Quebec Rabat
Reading Reykjavik Richmond Rotterdam Sacramento Salem Samara Santander Sapporo Sarajevo Savannah Sheffield Singapore
Skopje Southampton Split Stavanger Stockholm Strasbourg Stuttgart Sunderland Swansea Taipei Tampa Tampere Tashkent
Tehran Texas Toledo Toulouse Trento Trieste Tripoli Trondheim Tucson Tunis Tulsa Ulm Uppsala Vancouver Venice Verona
Vermont Virginia Wellington Winnipeg Worcester Wroclaw Yerevan Zagreb Zaragoza Aaron Abigail Adrian Agnes Alan Albert
Alejandro Alexander Alfred Alicia Alison Amanda Amelia Andrea Andrew Angela Anthony Antonio Arnold Arthur Ashley
Audrey Barbara Barry Benjamin Bernard Bertha Bethany Brandon Brenda Brian Bridget Caleb Cameron Carmen Caroline
Catherine Cecilia Charles Charlotte Christian Christopher Claire Claudia Clifford Colin Connor Craig Crystal Cynthia
Damian David Deborah Dennis Derek Diana Dominic Donald Dorothy Douglas Dylan Edgar Edward Eleanor Elizabeth Elliot
Emily Emma Eric Esther Ethan Eugene Eva Evelyn Fabian Fernando Fiona Florian Frances Francesco Frank Franziska
Frederick Gabriel Gareth Gavin Geoffrey Gerald Gilbert Giovanni Gloria Gordon Grace Graham Gregory Gustav Harold
Harriet Harry Heather Hector Heinrich Herbert Howard Ian Imogen Irene Isaac Isabel Isabella Ivan Jacob James Jane
Janet Jasmine Jason Javier Jeffrey Jennifer Jeremy Jessica Joan Joanna John Jonathan Jordan Joseph Joshua Judith
Julian Justin Karen Karl Katherine Kathleen Kenneth Kevin Kimberly Klaus Konrad Kristina Laura Lauren Lawrence
Leonardo Leonard Leslie Lewis Liam Lillian Linda Lisa Lorenzo Louis Louise Lucia Lucy Luis Luke Lydia Magnus Malcolm
Margaret Marie Marina Mark Martha Matthew Maurice Melanie Melissa Michael Michelle Miguel Mohammed Monica Morgan
Nathan Naomi Natalie Neil Nicholas Nicole Nigel Nikolai Norman Olivia Oskar Pablo Pamela Patricia Patrick Pedro Peter
Philip Phoebe Rachel Ralph Raymond Rebecca Regina Ricardo Richard Robert Roberto Robin Roger Roland Ronald Rosemary
Rupert Russell Ryan Sabrina Samantha Samuel Sandra Sarah Scott Sean Sebastian Sergio Sharon Sheila Simon Spencer
Stanley Stella Stephanie Stephen Steven Stewart Susan Sylvia Teresa Thomas Timothy Tobias Trevor Ursula Valerie
Vanessa Vera Veronica Vincent Vivian Walter Wendy Wilfred William Winston Xavier Yvonne Zachary Abbott Ackerman
Albrecht Anderson Andersson Antonov Armstrong Atkinson Bailey Barlow Barnes Beaumont Becker Bennett Bergman Bernstein
Blackwood Blanchard Bradshaw Brandt Brooks Buchanan Burgess Burke Burton Caldwell Campbell Chandler Chapman Chatterjee
Christensen Churchill Cohen Coleman Collins Crawford Cunningham Davenport Davidson Dawson Delgado Dickson Dixon
Donovan Doyle Drummond Duncan Dupont Eastwood Edwards Ellis Engel Esposito Evans Faulkner Fernandez Ferguson
Fitzgerald Fleming Fletcher Forsyth Foster Franklin Fuller Gallagher Garcia Gardner Garrison Gibson Goldberg Gonzalez
Goodman Graves Greenwood Griffith Guerrero Gustafsson Hamilton Hammond Harding Harrington Harrison Hartmann Harvey
Hawkins Henderson Hernandez Higgins Hopkins Hudson Hutchinson Jackson Jacobsen Jefferson Jenkins Johansson Johnson
Kaufmann Kennedy Kirkpatrick Knight Kozlov Kruger Lambert Langley Lawson Leclerc Lehmann Lombardi Lundgren MacDonald
Mackenzie Maldonado Marshall Martinez Maxwell McCarthy Mendoza Meyer Middleton Miller Mitchell Monroe Montgomery
Moreno Morrison Mueller Murphy Nakamura Nicholson Norton Obrien Oconnor Olsson Osborne Palmer Parker Patterson Pearson
Peterson Phillips Porter Powell Ramirez Ramsey Randall Reynolds Richardson Robertson Rodriguez Rosenberg Rutherford
Sanchez Sanders Santos Saunders Schneider Schroeder Schwartz Shapiro Shepherd Simmons Sinclair Singh Snyder Sorensen
Steele Stephenson Sutherland Swanson Thompson Thornton Townsend Underwood Vargas Vasquez Vaughan Volkov Wallace
Watanabe Watson Weaver Webster Wheeler Wilkinson Williams Wilson Winters Woodward Wright Yamamoto Zhang Zimmerman
Academy Admiral Alchemy Amazon Angel Apollo Arrow Aspen Avalon Axis Bamboo Banner Basin Bell Bison Blossom Bonfire
Boulder Breeze Briar Bronze Buckle Canyon Cascade Cathedral Cavern Chapel Cherry Cinder Circle Cliff Clockwork Coral
Cottage Crescent Cypress Dawn Diamond Dragon Eclipse Elephant Emerald Engine Feather Fern Firefly Flint Fortune Frost
Galaxy Gallery Glacier Grove Hammer Harvest Haven Hawthorn Heron Hickory Honey Indigo Jade Jasper Jungle Kingfisher
Lantern Laurel Lavender Legend Liberty Lotus Magnet Magnolia Mango Maritime Meadow Mercury Meteor Midland Monarch
Mosaic Mulberry Needle Neptune Nettle Oasis Olympus Onyx Opal Orchid Osprey Otter Panther Parchment Pearl Pelican
Pilgrim Pioneer Plaza Poplar Prairie Prism Quartz Radiant Raven Reef Ribbon Rocket Saddle Sapphire Savanna Scarlet
Sentinel Sequoia Skyline Solstice Sparrow Spruce Stallion Starling Sterling Sunset Swallow Sycamore Tempest Temple
Thistle Timber Topaz Trident Tulip Turquoise Twilight Vanguard Violet Vulcan Waterfall Whisper Windmill Wolverine
""")
THINGS = _words("""
abacus almond apron apricot armchair artichoke axle badge bagel balcony ballet banjo barley barrel basil basin beach
bench berry blade blender boat bonnet boots bouquet bracelet branch brick broom bucket buckle buffet bulb bureau
butter button cabbage cabin cactus calendar camel candy canoe canvas caravan cardigan carriage carton cattle celery
cello cement cereal chain chalk cherry chimney chisel cinnamon circuit clarinet clay cliff cloak coal cobweb cocoa
coconut collar compass concrete cookie coral cork cotton cradle crane crate crayon cream crystal cucumber curtain
cycle daffodil dagger dance deck desert diamond diary dolphin donkey doughnut dragon drawer dress drum duck dust eagle
earring easel elbow elevator emerald engine envelope feather fence ferry fiddle field flame flask flour flute frog
funnel gallery garage garlic gauge geese glacier glider glove glue goose gown grain grape gravel grill guard gutter
hammer hammock handle harp harvest hat hawk hay hazelnut heater hedge helicopter herb honey hood hook horn horse hut
icing ivy jam jar jelly jewel jigsaw juice jungle kayak kennel kettledrum kiosk kite kitten knot lace lantern lavender
lever lily linen lizard lobster locket lotion magnet mango mask meadow medal melon meteor mint mitten moss moth motor
mule museum mustard nail napkin necklace needle nest nettle nickel oar oat ocean onyx orchid otter owl oyster paddle
panther parcel parchment parsley pasta peach pear pebble pedal pelican pencil penguin pillar pillow pistachio pitcher
planet plate plough pocket pond porcelain porridge postcard puddle pulley pumpkins puppet pyramid quartz quilt quiver
radio radish raft rail raisin raspberry raven reed reef ribbon robe robin robot rocket rope rubber ruler saddle sail
sand sandal satin sauce saxophone scarf screwdriver sculpture seal seesaw shell shovel silk skate sketch sled sleeve
sloth snail sofa spade sparrow spice spider sponge spoon spring squash squid stable statue stool straw sugar sunflower
swan swing sword syrup tambourine tandem teapot telescope temple thimble thistle thread thyme tiger tile timber toad
toffee torch tractor train trumpet tulip tunnel turkey turnip turtle tweed vanilla vase vault veil vest vine vinegar
violet violin wagon waffle walrus wardrobe wax weasel whale wheat whistle wire wolf wreath yarn yogurt zebra zinc
zipper
""")
ONSETS = _words("b br c ch d dr f fl g gr h j k kl l m n p pr qu r s sh sk st t th tr v w y z")
VOWELS = _words("a e i o u a e i o ai ea ee ia ie oa ou é ö ü")
CODAS = _words("n r l s m t d k x nd rt lk sk st th ng ck") + ("",) * 12
